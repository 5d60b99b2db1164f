package import RouterPlugin

/// A permission of the operator beyond public addresses: for which application, to which destination, at which ports.
///
/// A grant opens private addresses, and ports that are closed otherwise. Forbidden addresses stay forbidden.
package struct EgressGrant: Hashable, Sendable {
    /// The application; nil means every application.
    package var application: ApplicationID?
    /// The host that the URL must name; nil means any. The DNS owner of that name chooses the address.
    package var host: HostPattern?
    /// The addresses that the connection may go to; nil means any that is not forbidden.
    package var network: IPNetwork?
    /// The ports; empty means all.
    package var ports: [ClosedRange<Int>]

    package init(
        application: ApplicationID? = nil, host: HostPattern? = nil, network: IPNetwork? = nil,
        ports: [ClosedRange<Int>] = []
    ) {
        self.application = application
        self.host = host
        self.network = network
        self.ports = ports
    }

    /// Loopback for every application: granted in development mode.
    package static let loopback = ["127.0.0.0/8", "::1/128"].map { EgressGrant(network: IPNetwork(constant: $0)) }

    /// Whether the grant covers this connection.
    func covers(_ application: ApplicationID?, _ host: String, _ address: IPAddress, _ port: Int) -> Bool {
        mayCover(application, host, port) && (network?.contains(address.unmapped) ?? true)
    }

    /// Whether the grant covers this connection if the host has a matching address, which is not known yet.
    func mayCover(_ application: ApplicationID?, _ host: String, _ port: Int) -> Bool {
        (self.application == nil || self.application == application)
            && (self.host?.matches(host) ?? true)
            && (ports.isEmpty || ports.contains { $0.contains(port) })
    }
}
