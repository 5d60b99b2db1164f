package import RouterPlugin

/// What the operator allows beyond public addresses: whom, whereto, at which ports.
///
/// A grant opens private addresses, and ports that are closed otherwise. What is forbidden stays forbidden.
package struct EgressGrant: Hashable, Sendable {
    /// Whom; nil means every application.
    package var application: ApplicationID?
    /// The host that the URL must name; nil means any. Whoever answers for that name in the DNS chooses the address.
    package var host: HostPattern?
    /// The addresses that the connection may go to; nil means any that is not forbidden.
    package var network: IPNetwork?
    /// At which ports; empty means all.
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

    /// Loopback for everybody: what development mode grants.
    package static let loopback = ["127.0.0.0/8", "::1/128"].map { EgressGrant(network: IPNetwork(constant: $0)) }

    /// Whether the grant is for this connection.
    func covers(_ application: ApplicationID?, _ host: String, _ address: IPAddress, _ port: Int) -> Bool {
        mayCover(application, host, port) && (network?.contains(address.unmapped) ?? true)
    }

    /// Whether the grant is for this connection if the host has a fitting address, which is not known yet.
    func mayCover(_ application: ApplicationID?, _ host: String, _ port: Int) -> Bool {
        (self.application == nil || self.application == application)
            && (self.host?.matches(host) ?? true)
            && (ports.isEmpty || ports.contains { $0.contains(port) })
    }
}
