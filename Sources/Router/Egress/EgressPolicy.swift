package import RouterPlugin

/// Decides where the daemon may connect on behalf of an application.
///
///     forbidden address ─────────────────────────────▶ refused, whatever is granted
///     covered by a grant ────────────────────────────▶ allowed
///     private address ───────────────────────────────▶ refused
///     public address ──▶ at a port of webhooks ──────▶ allowed
///                   └──▶ at another port ────────────▶ refused
///
/// A stateless value, consulted at three places: when an endpoint is registered, for the facts known by then; when a
/// socket is about to be opened, for its address; and before a request goes over an open connection, which another
/// application may have opened. Safe to use from any thread.
package struct EgressPolicy: Hashable, Sendable {
    package let grants: [EgressGrant]
    private let isEnforced: Bool

    /// A policy that allows public addresses and granted ones.
    package init(grants: [EgressGrant] = []) {
        self.grants = grants
        isEnforced = true
    }

    private init(isEnforced: Bool) {
        grants = []
        self.isEnforced = isEnforced
    }

    /// No policy: for programs that connect on behalf of the person who runs them, to the addresses that this person
    /// names.
    package static let unguarded = EgressPolicy(isEnforced: false)

    /// Loopback is granted to every application.
    package static let grantingLoopback = EgressPolicy(grants: EgressGrant.loopback)

    /// Whether a connection may be used.
    ///
    /// - Parameters:
    ///   - application: The application that connects; nil has only the grants that are for all.
    ///   - host: The host as the URL names it, in libcurl's normal form.
    ///   - address: The address of the socket's other end.
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

    /// Whether a URL is worth registering: refuses URLs for which no connection could ever be allowed, as far as that
    /// is known without looking the name up. Accepted URLs are checked again when their address is known.
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

    /// The addresses of hosts that need no look-up. libcurl itself treats `localhost` and all names below it as
    /// loopback, following RFC 6761, 6.3.
    private static func knownAddresses(of host: String) -> [IPAddress] {
        let name = HostPattern.canonical(host)
        // An address with a dot at its end is a name that libcurl would look up, and some resolvers resolve it to the
        // address.
        if let address = IPAddress(urlHost: host) ?? IPAddress(urlHost: name) { return [address] }
        return name == "localhost" || name.hasSuffix(".localhost") ? [.v4(127, 0, 0, 1), .v6(1)] : []
    }

    private static func isMetadataName(_ host: String) -> Bool { metadataNames.contains(HostPattern.canonical(host)) }

    /// Host names of cloud metadata services.
    private static let metadataNames: Set<String> = [
        "metadata.google.internal", "metadata.goog", "instance-data.ec2.internal", "metadata.tencentyun.com",
    ]
}

/// The decision of the guard.
package enum EgressVerdict: Hashable, Sendable {
    case allowed
    case refused(EgressRefusal)
}
