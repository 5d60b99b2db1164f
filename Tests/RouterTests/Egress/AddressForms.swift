import Router

/// An address in one of its forms, and the rule that has to decide it.
struct AddressForm: Sendable, CustomStringConvertible {
    let text: String
    let rule: AddressClass

    init(_ text: String, _ rule: AddressClass) {
        self.text = text
        self.rule = rule
    }

    var description: String { "\(text) is \(rule.rawValue)" }
}

/// Every range at its first and last address, and the addresses right outside of it.
enum AddressForms {
    static let all = v4 + v6 + embeddings + metadata

    static let v4: [AddressForm] = [
        .init("0.0.0.0", .thisNetwork), .init("0.0.0.1", .thisNetwork), .init("0.255.255.255", .thisNetwork),
        .init("1.0.0.0", .publicUnicast), .init("9.255.255.255", .publicUnicast),
        .init("10.0.0.0", .privateUse), .init("10.0.0.1", .privateUse), .init("10.255.255.255", .privateUse),
        .init("11.0.0.0", .publicUnicast), .init("100.63.255.255", .publicUnicast),
        .init("100.64.0.0", .sharedAddressSpace), .init("100.100.100.199", .sharedAddressSpace),
        .init("100.127.255.255", .sharedAddressSpace), .init("100.128.0.0", .publicUnicast),
        .init("126.255.255.255", .publicUnicast), .init("127.0.0.0", .loopback), .init("127.0.0.1", .loopback),
        .init("127.0.0.2", .loopback), .init("127.1.2.3", .loopback), .init("127.255.255.255", .loopback),
        .init("128.0.0.0", .publicUnicast), .init("169.253.255.255", .publicUnicast),
        .init("169.254.0.0", .linkLocal), .init("169.254.169.253", .linkLocal), .init("169.254.255.255", .linkLocal),
        .init("169.255.0.0", .publicUnicast), .init("172.15.255.255", .publicUnicast),
        .init("172.16.0.0", .privateUse), .init("172.17.0.1", .privateUse), .init("172.31.255.255", .privateUse),
        .init("172.32.0.0", .publicUnicast), .init("191.255.255.255", .publicUnicast),
        .init("192.0.0.0", .protocolAssignment), .init("192.0.0.9", .protocolAssignment),
        .init("192.0.0.170", .protocolAssignment), .init("192.0.0.255", .protocolAssignment),
        .init("192.0.1.0", .publicUnicast), .init("192.0.2.0", .documentation), .init("192.0.2.255", .documentation),
        .init("192.0.3.0", .publicUnicast), .init("192.31.195.255", .publicUnicast),
        .init("192.31.196.0", .serviceAnycast), .init("192.31.196.255", .serviceAnycast),
        .init("192.31.197.0", .publicUnicast), .init("192.52.193.1", .serviceAnycast),
        .init("192.52.194.0", .publicUnicast), .init("192.88.98.255", .publicUnicast),
        .init("192.88.99.1", .serviceAnycast), .init("192.88.100.0", .publicUnicast),
        .init("192.167.255.255", .publicUnicast), .init("192.168.0.0", .privateUse), .init("192.168.1.1", .privateUse),
        .init("192.168.255.255", .privateUse), .init("192.169.0.0", .publicUnicast),
        .init("192.175.48.6", .serviceAnycast), .init("192.175.49.0", .publicUnicast),
        .init("198.17.255.255", .publicUnicast), .init("198.18.0.0", .benchmarking),
        .init("198.19.255.255", .benchmarking), .init("198.20.0.0", .publicUnicast),
        .init("198.51.99.255", .publicUnicast), .init("198.51.100.0", .documentation),
        .init("198.51.100.255", .documentation), .init("198.51.101.0", .publicUnicast),
        .init("203.0.112.255", .publicUnicast), .init("203.0.113.0", .documentation),
        .init("203.0.113.255", .documentation), .init("203.0.114.0", .publicUnicast),
        .init("223.255.255.255", .publicUnicast), .init("224.0.0.0", .multicast), .init("224.0.0.251", .multicast),
        .init("239.255.255.255", .multicast), .init("240.0.0.0", .reserved), .init("255.255.255.254", .reserved),
        .init("255.255.255.255", .broadcast), .init("8.8.8.8", .publicUnicast), .init("1.1.1.1", .publicUnicast),
    ]

    static let v6: [AddressForm] = [
        .init("::", .thisNetwork), .init("0:0:0:0:0:0:0:0", .thisNetwork), .init("::1", .loopback),
        .init("0:0:0:0:0:0:0:1", .loopback), .init("0000:0000:0000:0000:0000:0000:0000:0001", .loopback),
        .init("::0.0.0.1", .loopback), .init("::1:0:0:0", .reserved), .init("1::", .reserved),
        .init("100::", .discard), .init("100::ffff:ffff:ffff:ffff", .discard),
        .init("100:0:0:1::", .protocolAssignment),
        .init("100:0:0:2::", .reserved), .init("1fff:ffff::", .reserved),
        .init("2000::", .publicUnicast), .init("2000:ffff::1", .publicUnicast),
        .init("2001:1::1", .protocolAssignment), .init("2001:2::", .benchmarking),
        .init("2001:2:0:ffff::1", .benchmarking), .init("2001:2:1::", .protocolAssignment),
        .init("2001:3::1", .protocolAssignment), .init("2001:4:112::1", .serviceAnycast),
        .init("2001:10::1", .protocolAssignment), .init("2001:20::1", .protocolAssignment),
        .init("2001:30::1", .protocolAssignment), .init("2001:1ff:ffff::", .protocolAssignment),
        .init("2001:200::", .publicUnicast), .init("2001:db7:ffff::", .publicUnicast),
        .init("2001:db8::", .documentation), .init("2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", .documentation),
        .init("2001:db9::", .publicUnicast), .init("2001:4860:4860::8888", .publicUnicast),
        .init("2606:4700:4700::1111", .publicUnicast), .init("2003::", .publicUnicast),
        .init("2620:4f:7fff:ffff::", .publicUnicast), .init("2620:4f:8000::1", .serviceAnycast),
        .init("2620:4f:8001::", .publicUnicast), .init("3ffe::1", .publicUnicast), .init("3fff::", .documentation),
        .init("3fff:fff:ffff::", .documentation), .init("3fff:1000::", .publicUnicast), .init("4000::", .reserved),
        .init("5eff:ffff::", .reserved), .init("5f00::", .segmentRouting), .init("5f00:ffff::1", .segmentRouting),
        .init("5f01::", .reserved), .init("fbff::1", .reserved), .init("fc00::", .uniqueLocal),
        .init("fd00::1", .uniqueLocal), .init("fdff:ffff::1", .uniqueLocal), .init("fe00::1", .reserved),
        .init("fe7f:ffff::1", .reserved), .init("fe80::1", .linkLocal), .init("FE80::ABCD", .linkLocal),
        .init("febf:ffff::1", .linkLocal), .init("fec0::1", .siteLocal), .init("feff::1", .siteLocal),
        .init("ff00::", .multicast), .init("ff02::1", .multicast), .init("ff0e::1", .multicast),
        .init("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", .multicast),
    ]

    static let embeddings: [AddressForm] = [
        // IPv4-mapped is that address.
        .init("::ffff:127.0.0.1", .loopback), .init("::ffff:7f00:1", .loopback),
        .init("0:0:0:0:0:ffff:127.0.0.1", .loopback), .init("::FFFF:10.0.0.5", .privateUse),
        .init("::ffff:c0a8:101", .privateUse), .init("::ffff:169.254.1.1", .linkLocal),
        .init("::ffff:100.64.0.1", .sharedAddressSpace), .init("::ffff:0.0.0.0", .thisNetwork),
        .init("::ffff:0:1", .thisNetwork), .init("::ffff:255.255.255.255", .broadcast),
        .init("::ffff:224.0.0.1", .multicast), .init("::ffff:8.8.8.8", .publicUnicast),
        // IPv4-compatible.
        .init("::127.0.0.1", .loopback), .init("::7f00:1", .loopback), .init("::10.0.0.5", .privateUse),
        .init("::0.0.0.2", .thisNetwork), .init("::ffff", .thisNetwork), .init("::192.0.2.1", .documentation),
        .init("::8.8.8.8", .publicUnicast),
        // IPv4-translated.
        .init("::ffff:0:127.0.0.1", .loopback), .init("::ffff:0:a00:5", .privateUse),
        .init("::ffff:0:8.8.8.8", .publicUnicast),
        // NAT64.
        .init("64:ff9b::127.0.0.1", .loopback), .init("64:ff9b::7f00:1", .loopback),
        .init("64:ff9b::10.0.0.5", .privateUse), .init("64:ff9b::192.168.1.1", .privateUse),
        .init("64:ff9b::0.0.0.0", .thisNetwork), .init("64:ff9b::224.0.0.1", .multicast),
        .init("64:ff9b::8.8.8.8", .publicUnicast), .init("64:ff9b::1:8.8.8.8", .reserved),
        .init("64:ff9b:0:1::8.8.8.8", .reserved),
        // NAT64 with the network's own prefix, of 96, 64, 56 and 48 bits.
        .init("64:ff9b:1::8.8.8.8", .localTranslation), .init("64:ff9b:1::10.0.0.5", .localTranslation),
        .init("64:ff9b:1::224.0.0.1", .multicast), .init("64:ff9b:1:0:e0:0:100:0", .multicast),
        .init("64:ff9b:1:e0::100:0:0", .multicast), .init("64:ff9b:1:e000:0:100::", .multicast),
        .init("64:ff9b:2::8.8.8.8", .reserved),
        // Teredo: the server, then the client, inverted.
        .init("2001:0:7f00:1:0:0:f7f7:f7f7", .loopback), .init("2001:0:808:808:0:0:80ff:fffe", .loopback),
        .init("2001:0:808:808:0:0:f5ff:fffa", .privateUse), .init("2001:0:a00:5:0:0:f7f7:f7f7", .privateUse),
        .init("2001:0:808:808:0:0:f7f7:f7f7", .publicUnicast), .init("2001::", .thisNetwork),
        // 6to4.
        .init("2002:7f00:1::", .loopback), .init("2002:7f00:1::1", .loopback), .init("2002:a00:5::1", .privateUse),
        .init("2002:c0a8:101:1::1", .privateUse), .init("2002:ac10:1::1", .privateUse),
        .init("2002:6440:1::1", .sharedAddressSpace), .init("2002:a9fe:101::1", .linkLocal),
        .init("2002:0:0::1", .thisNetwork), .init("2002:e000:1::1", .multicast),
        .init("2002:808:808::1", .publicUnicast),
        // ISATAP, under a public prefix, a local one, and inside 6to4.
        .init("2001:4860::5efe:127.0.0.1", .loopback), .init("2001:4860::200:5efe:10.0.0.5", .privateUse),
        .init("2001:4860::300:5efe:10.0.0.5", .privateUse), .init("2001:4860:0:1:0:5efe:192.168.1.1", .privateUse),
        .init("2001:4860::5efe:8.8.8.8", .publicUnicast), .init("2001:4860::5eff:10.0.0.5", .publicUnicast),
        .init("fe80::5efe:10.0.0.5", .linkLocal), .init("fe80::5efe:224.0.0.1", .multicast),
        .init("2002:808:808::5efe:10.0.0.5", .privateUse), .init("2002:a00:5::5efe:224.0.0.1", .multicast),
    ]

    static let metadata: [AddressForm] =
        [
            "169.254.169.254", "169.254.170.2", "169.254.170.23", "169.254.0.23", "169.254.42.42", "100.100.100.200",
            "100.96.0.96", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254",
            "fd00:42::42", "fd00:c1::a9fe:a9fe", "fd00:0ec2:0:0:0:0:0:0254", "::ffff:169.254.169.254",
            "::ffff:a9fe:a9fe", "::169.254.169.254", "::ffff:0:169.254.169.254", "64:ff9b::169.254.169.254",
            "64:ff9b::a9fe:a9fe", "64:ff9b:1::169.254.169.254", "64:ff9b:1:a9fe:a9:fe00::",
            "64:ff9b:1:a9:fe:a9fe::", "64:ff9b:1:0:a9:fea9:fe00:0", "2002:a9fe:a9fe::1",
            "2001:0:a9fe:a9fe:0:0:f7f7:f7f7", "2001:0:808:808:0:0:5601:5601", "2001:4860::5efe:169.254.169.254",
            "fe80::5efe:a9fe:a9fe", "64:ff9b::100.100.100.200", "2002:6464:64c8::",
        ].map { AddressForm($0, .metadata) }
}
