/// All ranges that are not simply public: the IANA registries of special-purpose addresses (RFC 6890), multicast,
/// reserved ranges, and the metadata addresses of clouds. The most specific range that holds an address decides.
///
/// Created once and never changed, and therefore safe to read from any thread.
package enum SpecialRanges {
    /// Each range, its class, and the document that defines it.
    package static let all: [(network: IPNetwork, addressClass: AddressClass, source: String)] =
        (v4 + v6 + metadata).map { (IPNetwork(constant: $0.0), $0.1, $0.2) }

    private typealias Entry = (String, AddressClass, String)

    /// https://www.iana.org/assignments/iana-ipv4-special-registry and, for 224.0.0.0/4, the multicast registry.
    private static let v4: [Entry] = [
        ("0.0.0.0/0", .publicUnicast, "RFC 791"),
        ("0.0.0.0/8", .thisNetwork, "RFC 791, 3.2"),
        ("10.0.0.0/8", .privateUse, "RFC 1918"),
        ("100.64.0.0/10", .sharedAddressSpace, "RFC 6598"),
        ("127.0.0.0/8", .loopback, "RFC 1122, 3.2.1.3"),
        ("169.254.0.0/16", .linkLocal, "RFC 3927"),
        ("172.16.0.0/12", .privateUse, "RFC 1918"),
        // Two addresses in the range are globally reachable; they answer PCP and TURN, and no webhook.
        ("192.0.0.0/24", .protocolAssignment, "RFC 6890, 2.1"),
        ("192.0.2.0/24", .documentation, "RFC 5737"),
        ("192.31.196.0/24", .serviceAnycast, "RFC 7535"),
        ("192.52.193.0/24", .serviceAnycast, "RFC 7450"),
        ("192.88.99.0/24", .serviceAnycast, "RFC 7526"),
        ("192.168.0.0/16", .privateUse, "RFC 1918"),
        ("192.175.48.0/24", .serviceAnycast, "RFC 7534"),
        ("198.18.0.0/15", .benchmarking, "RFC 2544"),
        ("198.51.100.0/24", .documentation, "RFC 5737"),
        ("203.0.113.0/24", .documentation, "RFC 5737"),
        ("224.0.0.0/4", .multicast, "RFC 5771"),
        ("240.0.0.0/4", .reserved, "RFC 1112, 4"),
        ("255.255.255.255/32", .broadcast, "RFC 919, 7"),
    ]

    /// https://www.iana.org/assignments/iana-ipv6-special-registry and, outside `2000::/3`,
    /// https://www.iana.org/assignments/ipv6-address-space. Ranges that embed IPv4 have their own class;
    /// `IPAddress.embeddedV4` has the embedded addresses.
    private static let v6: [Entry] = [
        ("::/0", .reserved, "RFC 4291, 4"),
        ("::/128", .thisNetwork, "RFC 4291, 2.5.2"),
        ("::1/128", .loopback, "RFC 4291, 2.5.3"),
        ("::/96", .publicUnicast, "RFC 4291, 2.5.5.1: IPv4-compatible"),
        ("::ffff:0:0:0/96", .publicUnicast, "RFC 2765, 2.1: IPv4-translated"),
        ("64:ff9b::/96", .publicUnicast, "RFC 6052: NAT64"),
        ("64:ff9b:1::/48", .localTranslation, "RFC 8215"),
        ("100::/64", .discard, "RFC 6666"),
        ("100:0:0:1::/64", .protocolAssignment, "RFC 9780"),
        ("2000::/3", .publicUnicast, "RFC 4291, 4"),
        // Anycast addresses, benchmarks, AMT, AS112, ORCHID and drones among them.
        ("2001::/23", .protocolAssignment, "RFC 2928"),
        ("2001::/32", .publicUnicast, "RFC 4380: Teredo"),
        ("2001:2::/48", .benchmarking, "RFC 5180"),
        ("2001:4:112::/48", .serviceAnycast, "RFC 7535"),
        ("2001:db8::/32", .documentation, "RFC 3849"),
        ("2002::/16", .publicUnicast, "RFC 3056: 6to4"),
        ("2620:4f:8000::/48", .serviceAnycast, "RFC 7534"),
        ("3fff::/20", .documentation, "RFC 9637"),
        ("5f00::/16", .segmentRouting, "RFC 9602"),
        ("fc00::/7", .uniqueLocal, "RFC 4193"),
        ("fe80::/10", .linkLocal, "RFC 4291, 2.5.6"),
        ("fec0::/10", .siteLocal, "RFC 3879"),
        ("ff00::/8", .multicast, "RFC 4291, 2.7"),
    ]

    /// Where clouds serve credentials and the like to their own machines, without authentication.
    private static let metadata: [Entry] = [
        ("169.254.169.254/32", .metadata, "AWS, Azure, Google Cloud, DigitalOcean, Oracle, OpenStack and others"),
        ("169.254.170.2/32", .metadata, "AWS: credentials of ECS tasks"),
        ("169.254.170.23/32", .metadata, "AWS: credentials of EKS pods"),
        ("169.254.0.23/32", .metadata, "Tencent Cloud"),
        ("169.254.42.42/32", .metadata, "Scaleway"),
        ("100.100.100.200/32", .metadata, "Alibaba Cloud"),
        ("100.96.0.96/32", .metadata, "Volcano Engine"),
        ("168.63.129.16/32", .metadata, "Azure: the platform's own channel to its machines"),
        ("192.0.0.192/32", .metadata, "Oracle Cloud Classic"),
        ("fd00:ec2::254/128", .metadata, "AWS"),
        ("fd00:ec2::23/128", .metadata, "AWS: credentials of EKS pods"),
        ("fd20:ce::254/128", .metadata, "Google Cloud"),
        ("fd00:42::42/128", .metadata, "Scaleway"),
        ("fd00:c1::a9fe:a9fe/128", .metadata, "Oracle Cloud"),
    ]

    /// The most specific first.
    private static let ordered = all.sorted { $0.network.length > $1.network.length }
    private static let orderedV4 = ordered.filter { $0.network.base.width == 32 }
    private static let orderedV6 = ordered.filter { $0.network.base.width == 128 }

    /// The class of the address itself, without regard to embedded addresses.
    static func classification(of address: IPAddress) -> AddressClassification {
        classification(of: IPNetwork(containing: address, length: address.width))
    }

    /// The class of the most specific range that holds the whole network.
    package static func classification(of network: IPNetwork) -> AddressClassification {
        let ranges = network.base.width == 32 ? orderedV4 : orderedV6
        guard let found = ranges.first(where: { $0.network.contains(network) }) else {
            preconditionFailure("\(network) is in no range, though one holds all")
        }
        return AddressClassification(addressClass: found.addressClass, range: found.network)
    }
}
