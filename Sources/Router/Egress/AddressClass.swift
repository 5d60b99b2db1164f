/// The purpose of an address, which decides whether a webhook may go there. The raw values are the names of the guard's
/// rules.
package enum AddressClass: String, CaseIterable, Hashable, Sendable {
    /// An address like any other on the Internet.
    case publicUnicast = "public"

    // Private: for the operator to grant.
    /// This machine.
    case loopback
    /// RFC 1918.
    case privateUse = "private-use"
    /// The inside of address translation by a carrier or an overlay network.
    case sharedAddressSpace = "shared-address-space"
    /// Neighbours on the same wire.
    case linkLocal = "link-local"
    /// IPv6's private addresses.
    case uniqueLocal = "unique-local"
    /// The former private addresses of IPv6.
    case siteLocal = "site-local"
    /// A translation between IPv6 and IPv4 run by the network's own operator.
    case localTranslation = "local-translation"

    // Forbidden: no setting opens them.
    /// Where a cloud hands out credentials to any process on its machines.
    case metadata
    /// No destination at all; Linux treats it as loopback.
    case thisNetwork = "this-network"
    /// Addresses of Internet protocols themselves, not of hosts.
    case protocolAssignment = "protocol-assignment"
    /// Services that many machines answer for: relays and sinks.
    case serviceAnycast = "service-anycast"
    case documentation
    case benchmarking
    case discard
    /// Steps of a route, not hosts.
    case segmentRouting = "segment-routing"
    case multicast
    case broadcast
    /// Not assigned.
    case reserved

    /// The policy that applies to an address.
    package enum Tier: String, Comparable, Hashable, Sendable {
        /// Allowed, at the ports where webhooks are received.
        case `public`
        /// Allowed where a grant covers it.
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
        case .discard: "an address that discards all packets"
        case .segmentRouting: "a segment identifier"
        case .multicast: "a multicast address"
        case .broadcast: "the broadcast address"
        case .reserved: "a reserved address"
        }
    }
}

/// The class of one address, and the range that decided it.
package struct AddressClassification: Hashable, Sendable {
    package var addressClass: AddressClass
    /// The range of the registry that decided.
    package var range: IPNetwork
    /// The embedded IPv4 address that decided, if it is not the address itself.
    package var embedded: IPAddress?
}

extension IPAddress {
    /// The class of the most specific range that holds the address.
    ///
    /// An IPv6 address that carries IPv4 addresses has the most restricted class among them and itself, because a
    /// translator or tunnel on the way may send the packet there. An IPv4-mapped address is that IPv4 address.
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
