/// What an address is for, and so whether a webhook may go there. The raw values are the names of the guard's rules.
package enum AddressClass: String, CaseIterable, Hashable, Sendable {
    /// An address like any other on the Internet.
    case publicUnicast = "public"

    // Private: for the operator to grant.
    /// This machine.
    case loopback
    /// RFC 1918.
    case privateUse = "private-use"
    /// The inside of a carrier's, or an overlay's, address translation.
    case sharedAddressSpace = "shared-address-space"
    /// Neighbours on the same wire.
    case linkLocal = "link-local"
    /// IPv6's private addresses.
    case uniqueLocal = "unique-local"
    /// What IPv6 had for private addresses before.
    case siteLocal = "site-local"
    /// A translation between IPv6 and IPv4 that the network's own operator runs.
    case localTranslation = "local-translation"

    // Forbidden: no setting opens them.
    /// Where a cloud hands out credentials to whoever asks from the inside.
    case metadata
    /// No destination at all; Linux takes it for loopback.
    case thisNetwork = "this-network"
    /// Protocols of the Internet's own, no hosts.
    case protocolAssignment = "protocol-assignment"
    /// Services that many machines answer for: relays and sinks.
    case serviceAnycast = "service-anycast"
    case documentation
    case benchmarking
    case discard
    /// Steps of a route, no hosts.
    case segmentRouting = "segment-routing"
    case multicast
    case broadcast
    /// Assigned to nobody.
    case reserved

    /// Which policy an address falls under.
    package enum Tier: String, Comparable, Hashable, Sendable {
        /// Allowed, at the ports that webhooks are received at.
        case `public`
        /// Allowed where a grant says so.
        case `private`
        /// Never allowed.
        case forbidden

        private var rank: Int {
            switch self {
            case .public: 0
            case .private: 1
            case .forbidden: 2
            }
        }

        package static func < (one: Self, other: Self) -> Bool { one.rank < other.rank }
    }

    package var tier: Tier {
        switch self {
        case .publicUnicast: .public
        case .loopback, .privateUse, .sharedAddressSpace, .linkLocal, .uniqueLocal, .siteLocal, .localTranslation:
            .private
        case .metadata, .thisNetwork, .protocolAssignment, .serviceAnycast, .documentation, .benchmarking, .discard,
            .segmentRouting, .multicast, .broadcast, .reserved:
            .forbidden
        }
    }

    /// Completes "… is ".
    package var words: String {
        switch self {
        case .publicUnicast: "a public address"
        case .loopback: "a loopback address"
        case .privateUse: "a private address"
        case .sharedAddressSpace: "an address of the shared address space"
        case .linkLocal: "a link-local address"
        case .uniqueLocal: "a unique local address"
        case .siteLocal: "a site-local address"
        case .localTranslation: "an address of a local IPv4/IPv6 translation"
        case .metadata: "a cloud metadata address"
        case .thisNetwork: "not the address of a host"
        case .protocolAssignment: "an address of an Internet protocol"
        case .serviceAnycast: "an address of the Internet's infrastructure"
        case .documentation: "an address for documentation"
        case .benchmarking: "an address for benchmarks"
        case .discard: "an address that discards what it gets"
        case .segmentRouting: "a segment identifier"
        case .multicast: "a multicast address"
        case .broadcast: "the broadcast address"
        case .reserved: "a reserved address"
        }
    }
}

/// The class of one address and what says so.
package struct AddressClassification: Hashable, Sendable {
    package var addressClass: AddressClass
    /// The range of the registry that decided.
    package var range: IPNetwork
    /// The IPv4 address inside that decided, if it is not the address itself.
    package var embedded: IPAddress?
}

extension IPAddress {
    /// The class of the most specific range that holds the address.
    ///
    /// An IPv6 address that carries IPv4 addresses is as bad as the worst of them and itself, because somewhere on the
    /// way a translator or tunnel may send the packet there. An IPv4-mapped one is that IPv4 address.
    package var classification: AddressClassification {
        let address = unmapped
        var worst = SpecialRanges.classification(of: address)
        for embedded in address.embeddedV4 {
            var inner = SpecialRanges.classification(of: .v4(embedded))
            guard inner.addressClass.tier > worst.addressClass.tier else { continue }
            inner.embedded = .v4(embedded)
            worst = inner
        }
        return worst
    }
}
