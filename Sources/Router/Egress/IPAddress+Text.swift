extension IPAddress {
    /// Reads an address in one of the two standard notations: dotted with four decimal parts, or RFC 4291, 2.2.
    ///
    /// Deliberately as strict as `inet_pton`: libcurl's URL parser turns short, octal, hexadecimal and decimal
    /// spellings of IPv4 into the standard one, once, before any decision; a second, lenient reader could arrive at
    /// another address than the connection.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count <= Self.longestText else { return nil }
        if text.utf8.contains(UInt8(ascii: ":")) {
            guard let number = Self.readV6(Substring(text)) else { return nil }
            self = .v6(number)
        } else {
            guard let number = Self.readV4(Substring(text)) else { return nil }
            self = .v4(number)
        }
    }

    /// Reads the host of a URL: an IPv6 address stands in brackets. Nil if the host is a name.
    package init?(urlHost host: String) {
        if host.hasPrefix("[") {
            guard host.hasSuffix("]"), case .v6? = IPAddress(host.dropFirst().dropLast()) else { return nil }
            self.init(host.dropFirst().dropLast())
        } else {
            guard case .v4? = IPAddress(host) else { return nil }
            self.init(host)
        }
    }

    /// `INET6_ADDRSTRLEN` without its terminator.
    private static let longestText = 45

    private static func readV4(_ text: Substring) -> UInt32? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var number: UInt32 = 0
        for part in parts {
            // Some readers take a leading zero for octal, and others ignore it.
            guard part.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let byte = UInt8(part),
                part.utf8.count == 1 || part.utf8.first != 0x30
            else { return nil }
            number = number << 8 | UInt32(byte)
        }
        return number
    }

    private static func readV6(_ text: Substring) -> UInt128? {
        var parts = text.split(separator: ":", omittingEmptySubsequences: false)
        // `::` at an end leaves two empty parts, where in the middle it leaves one.
        if parts.first?.isEmpty == true {
            guard parts.count > 2, parts[1].isEmpty else { return nil }
            parts.removeFirst()
        }
        if parts.last?.isEmpty == true {
            guard parts.count > 1, parts[parts.count - 2].isEmpty else { return nil }
            parts.removeLast()
        }
        let gaps = parts.indices.filter { parts[$0].isEmpty }
        guard gaps.count <= 1 else { return nil }
        var groups: [UInt16] = []
        for (place, part) in parts.enumerated() where !part.isEmpty {
            guard let read = readGroups(part, isLast: place == parts.count - 1) else { return nil }
            groups += read
        }
        if let gap = gaps.first {
            guard groups.count < 8 else { return nil }
            groups.insert(contentsOf: Array(repeating: 0, count: 8 - groups.count), at: gap)
        }
        guard groups.count == 8 else { return nil }
        return groups.reduce(0) { $0 << 16 | UInt128($1) }
    }

    /// One group of four hexadecimal digits at most; at the end of an address two groups in dotted form.
    private static func readGroups(_ part: Substring, isLast: Bool) -> [UInt16]? {
        if isLast, let number = readV4(part) {
            return [UInt16(number >> 16), UInt16(truncatingIfNeeded: number)]
        }
        let isHexadecimal: (UInt8) -> Bool = {
            (0x30...0x39).contains($0) || (0x41...0x46).contains($0) || (0x61...0x66).contains($0)
        }
        guard part.utf8.count <= 4, part.utf8.allSatisfy(isHexadecimal), let group = UInt16(part, radix: 16) else {
            return nil
        }
        return [group]
    }
}
