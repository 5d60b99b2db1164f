package import Router

/// How a ``CurlTransport`` is set up; the limits of a single request come with the request.
package struct CurlConfiguration: Hashable, Sendable {
    /// How many requests run at once; the others wait here, where no time limit runs yet.
    package var slots: Int
    /// How many requests may wait; one more fails at once.
    package var waitingLimit: Int
    /// How many idle connections are kept. Without a number libcurl keeps four per running transfer, so that each
    /// quiet moment would throw warm TLS connections away.
    package var cachedConnections: Int
    /// Age in seconds at which a connection is no longer used again, so that a change of address is noticed.
    package var connectionLifetimeSeconds: Int
    /// How many threads there are for names beyond ``lookUps``, for those that were found before and those that take
    /// long.
    package var furtherLookUps: Int
    /// File with the certificates to trust, PEM; nil takes the system's.
    package var certificateAuthorityFile: String?
    /// Where connections may go; without grants to public addresses only.
    package var egress: EgressPolicy

    package init(
        egress: EgressPolicy = EgressPolicy(), slots: Int = 256, waitingLimit: Int = 16_384,
        cachedConnections: Int? = nil,
        connectionLifetimeSeconds: Int = 300, furtherLookUps: Int? = nil, certificateAuthorityFile: String? = nil
    ) {
        self.egress = egress
        self.slots = slots
        self.waitingLimit = waitingLimit
        self.cachedConnections = cachedConnections ?? 2 * slots
        self.connectionLifetimeSeconds = connectionLifetimeSeconds
        self.furtherLookUps = furtherLookUps ?? Self.lookUps(slots: slots) * CurlLimits.moreLookUps
        self.certificateAuthorityFile = certificateAuthorityFile
    }

    /// How many names are looked up at once by a transport of that many slots, unless they were found before or take
    /// long.
    private static func lookUps(slots: Int) -> Int { min(CurlLimits.lookUps, max(4, slots / 4)) }

    /// How many names are looked up at once, unless they were found before or take long.
    package var lookUps: Int { Self.lookUps(slots: slots) }

    /// The number of files that the transport may have open: its connections, and the files of all look-ups that may be
    /// under way at once.
    package var files: Int {
        max(slots, cachedConnections) + (lookUps + furtherLookUps) * CurlLimits.filesPerLookUp
    }

    /// Why no transport can be made with these numbers, or nil.
    var unsuitable: String? {
        guard (1...65_536).contains(slots) else { return "slots must be 1 to 65536, not \(slots)" }
        guard waitingLimit >= 0 else { return "waitingLimit must not be negative, but is \(waitingLimit)" }
        guard (1...1_000_000).contains(cachedConnections) else {
            return "cachedConnections must be 1 to 1000000, not \(cachedConnections)"
        }
        guard (0...65_536).contains(furtherLookUps) else {
            return "furtherLookUps must be 0 to 65536, not \(furtherLookUps)"
        }
        guard (1...86_400).contains(connectionLifetimeSeconds) else {
            return "connectionLifetimeSeconds must be 1 to 86400, not \(connectionLifetimeSeconds)"
        }
        return nil
    }
}
