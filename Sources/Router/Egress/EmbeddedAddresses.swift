extension IPAddress {
    /// The IPv4 addresses that an IPv6 address carries for translators and tunnels.
    ///
    /// | prefix | what | where the IPv4 address stands |
    /// |---|---|---|
    /// | `::/96` | IPv4-compatible (RFC 4291) | the last 32 bits |
    /// | `::ffff:0:0:0/96` | IPv4-translated (RFC 2765) | the last 32 bits |
    /// | `64:ff9b::/96` | NAT64 (RFC 6052) | the last 32 bits |
    /// | `64:ff9b:1::/48` | local NAT64 (RFC 8215) | wherever RFC 6052, 2.2 puts it for prefixes of 48, 56, 64, 96 bits |
    /// | `2001::/32` | Teredo (RFC 4380) | the server after the prefix; the client, inverted, in the last 32 bits |
    /// | `2002::/16` | 6to4 (RFC 3056) | after the prefix |
    /// | any of 64 bits | ISATAP (RFC 5214) | the last 32 bits, after `0:5efe` or `200:5efe` |
    ///
    /// `::` and `::1` carry nothing. An IPv4-mapped address is not among them: it is that address (`unmapped`).
    var embeddedV4: [UInt32] {
        guard case .v6(let number) = self, number > 1 else { return [] }
        let last = UInt32(truncatingIfNeeded: number)
        var found: [UInt32] = []
        if Self.hasV4AtEnd.contains(where: { $0.contains(self) }) { found.append(last) }
        if Self.localTranslation.contains(self) { found += Self.candidates(in: number) }
        if Self.teredo.contains(self) { found += [UInt32(truncatingIfNeeded: number >> 64), ~last] }
        if Self.sixToFour.contains(self) { found.append(UInt32(truncatingIfNeeded: number >> 80)) }
        // The two lowest bits of the first byte say whether the identifier is unique and whether it is a group.
        if UInt32(truncatingIfNeeded: number >> 32) & ~0x0300_0000 == 0x5EFE { found.append(last) }
        return found
    }

    private static let hasV4AtEnd = ["::/96", "::ffff:0:0:0/96", "64:ff9b::/96"].map { IPNetwork(constant: $0) }
    private static let localTranslation = IPNetwork(constant: "64:ff9b:1::/48")
    private static let teredo = IPNetwork(constant: "2001::/32")
    private static let sixToFour = IPNetwork(constant: "2002::/16")

    /// Only the network's operator knows the length of the local prefix. Bytes that read as 0.0.0.0/8 at one length are
    /// the padding of another.
    private static func candidates(in number: UInt128) -> [UInt32] {
        let bytes = (0..<16).map { UInt32(truncatingIfNeeded: number >> (120 - 8 * $0)) & 0xFF }
        let places = [[6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], [12, 13, 14, 15]]
        return places.map { $0.reduce(0) { $0 << 8 | bytes[$1] } }.filter { $0 >> 24 != 0 }
    }
}
