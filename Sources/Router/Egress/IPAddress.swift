/// An address of the Internet Protocol, of either version, as the number that it is.
package enum IPAddress: Hashable, Sendable {
    case v4(UInt32)
    case v6(UInt128)

    /// Reads the address of a socket: 4 or 16 bytes in network order. Nil for any other count.
    package init?(bytes: some Collection<UInt8>) {
        switch bytes.count {
        case 4: self = .v4(bytes.reduce(0) { $0 << 8 | UInt32($1) })
        case 16: self = .v6(bytes.reduce(0) { $0 << 8 | UInt128($1) })
        default: return nil
        }
    }

    /// The four parts of a dotted address.
    package static func v4(_ first: UInt8, _ second: UInt8, _ third: UInt8, _ fourth: UInt8) -> IPAddress {
        .v4(UInt32(first) << 24 | UInt32(second) << 16 | UInt32(third) << 8 | UInt32(fourth))
    }

    /// The real destination of packets to this address: packets to an IPv4-mapped address (RFC 4291, 2.5.5.2) leave the
    /// machine as IPv4, so the two spellings are one destination.
    package var unmapped: IPAddress {
        guard case .v6(let number) = self, number >> 32 == 0xFFFF else { return self }
        return .v4(UInt32(truncatingIfNeeded: number))
    }

    /// How many bits the address has.
    package var width: Int {
        switch self {
        case .v4: 32
        case .v6: 128
        }
    }
}

extension IPAddress: CustomStringConvertible {
    /// Dotted, or as RFC 5952 recommends.
    package var description: String {
        switch self {
        case .v4(let number): Self.dotted(number)
        case .v6(let number) where number >> 32 == 0xFFFF:
            "::ffff:" + Self.dotted(UInt32(truncatingIfNeeded: number))
        case .v6(let number): Self.colonSeparated(number)
        }
    }

    private static func dotted(_ number: UInt32) -> String {
        [24, 16, 8, 0].map { String(number >> $0 & 0xFF) }.joined(separator: ".")
    }

    /// The longest run of two or more zero groups, the first of equals, is written as `::`.
    private static func colonSeparated(_ number: UInt128) -> String {
        let groups = (0..<8).map { UInt16(truncatingIfNeeded: number >> (112 - 16 * $0)) }
        var longest = 0..<0
        var start = 0
        for (place, group) in groups.enumerated() {
            if group != 0 {
                start = place + 1
            } else if place + 1 - start > longest.count {
                longest = start..<(place + 1)
            }
        }
        func text(_ range: Range<Int>) -> String {
            groups[range].map { String($0, radix: 16) }.joined(separator: ":")
        }
        guard longest.count >= 2 else { return text(0..<8) }
        return text(0..<longest.lowerBound) + "::" + text(longest.upperBound..<8)
    }
}
