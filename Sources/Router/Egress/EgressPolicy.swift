package import RouterPlugin

/// Where the daemon may connect to on behalf of an application.
///
///     forbidden address ─────────────────────────────▶ refused, whatever is granted
///     covered by a grant ────────────────────────────▶ allowed
///     private address ───────────────────────────────▶ refused
///     public address ──▶ at a port of webhooks ──────▶ allowed
///                   └──▶ at another port ────────────▶ refused
///
/// A value without state, asked at three places: when an endpoint is registered, for what is known by then; when a socket
/// is about to be opened, for the address that it will connect to; and before a request goes over a connection that stands
/// already, whose opener may have been another application. Safe to be asked from any thread.
package struct EgressPolicy: Hashable, Sendable {
    package let grants: [EgressGrant]
    private let isEnforced: Bool

    /// A policy that allows public addresses and what is granted.
    package init(grants: [EgressGrant] = []) {
        self.grants = grants
        isEnforced = true
    }

    private init(isEnforced: Bool) {
        grants = []
        self.isEnforced = isEnforced
    }

    /// No policy: for programs that connect to where the person who runs them tells them, on that person's own behalf.
    package static let unguarded = EgressPolicy(isEnforced: false)

    /// Loopback is granted to every application.
    package static let grantingLoopback = EgressPolicy(grants: EgressGrant.loopback)

    /// Whether a connection may be used.
    ///
    /// - Parameters:
    ///   - application: On whose behalf; nil has no grants but those for all.
    ///   - host: As the URL names it, in libcurl's normal form.
    ///   - address: What the socket connects to, or is connected to.
    package func verdict(
        for application: ApplicationID?, host: String, address: IPAddress, port: Int
    ) -> EgressVerdict {
        guard isEnforced else { return .allowed }
        if Self.isMetadataName(host) { return .refused(EgressRefusal(metadataName: host)) }
        let found = address.classification
        if found.addressClass.tier == .forbidden { return .refused(EgressRefusal(address, found, port)) }
        if grants.contains(where: { $0.covers(application, host, address, port) }) { return .allowed }
        guard found.addressClass.tier == .public else { return .refused(EgressRefusal(address, found, port)) }
        return EgressPorts.isOpen(port) ? .allowed : .refused(EgressRefusal(closedPort: port))
    }

    /// Whether a URL is worth registering: refuses what no connection could ever be allowed for, as far as that is known
    /// without looking the name up. What passes here is asked for again when its address is known.
    package func verdict(for application: ApplicationID?, host: String, port: Int) -> EgressVerdict {
        guard isEnforced else { return .allowed }
        if Self.isMetadataName(host) { return .refused(EgressRefusal(metadataName: host)) }
        let known = Self.knownAddresses(of: host)
        guard !known.isEmpty else {
            let isOpen = EgressPorts.isOpen(port) || grants.contains { $0.mayCover(application, host, port) }
            return isOpen ? .allowed : .refused(EgressRefusal(closedPort: port))
        }
        let verdicts = known.map { verdict(for: application, host: host, address: $0, port: port) }
        return verdicts.contains(.allowed) ? .allowed : verdicts[0]
    }

    /// The addresses of hosts that need no look-up. libcurl itself takes `localhost` and all below it for loopback, as
    /// RFC 6761, 6.3, has it.
    private static func knownAddresses(of host: String) -> [IPAddress] {
        let name = HostPattern.canonical(host)
        // With a dot at its end an address is a name that libcurl would look up, and some resolvers know better.
        if let address = IPAddress(urlHost: host) ?? IPAddress(urlHost: name) { return [address] }
        return name == "localhost" || name.hasSuffix(".localhost") ? [.v4(127, 0, 0, 1), .v6(1)] : []
    }

    private static func isMetadataName(_ host: String) -> Bool { metadataNames.contains(HostPattern.canonical(host)) }

    /// What clouds call their metadata addresses.
    private static let metadataNames: Set<String> = [
        "metadata.google.internal", "metadata.goog", "instance-data.ec2.internal", "metadata.tencentyun.com",
    ]
}

/// What the guard says.
package enum EgressVerdict: Hashable, Sendable {
    case allowed
    case refused(EgressRefusal)
}
