import RouterPlugin

/// A name of a host, or all names below a domain: `hooks.internal`, `*.internal`.
///
/// Invariant: lower case, without a dot at the end.
package struct HostPattern: Hashable, Sendable {
    private let name: String
    private let isWildcard: Bool

    /// Reads a name as URLs spell it; a leading `*.` stands for one label or more.
    package init(_ text: String) throws(InvalidGrantText) {
        var name = Self.canonical(text)[...]
        isWildcard = name.hasPrefix("*.")
        if isWildcard { name = name.dropFirst(2) }
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.allSatisfy(Self.isLabel), let last = labels.last, name.utf8.count <= 253 else {
            throw InvalidGrantText(reason: "must be the name of a host, or '*.' and a domain")
        }
        // URL parsers read 10.1, 2130706433 and 0x7f000001 as addresses, so these never reach a pattern.
        guard !last.utf8.allSatisfy({ (0x30...0x39).contains($0) }), !last.hasPrefix("0x") else {
            throw InvalidGrantText(reason: "must be a name; an address is granted as network")
        }
        self.name = String(name)
    }

    /// Whether the pattern matches the host of a URL.
    package func matches(_ host: String) -> Bool {
        let host = Self.canonical(host)
        if !isWildcard { return host.isSame(as: name) }
        let ending = ".\(name)".utf8
        return host.utf8.count > ending.count && host.utf8.suffix(ending.count).elementsEqual(ending)
    }

    /// A name with a dot at its end is the same name, marked as complete.
    static func canonical(_ host: String) -> String {
        let lower = host.lowercased()
        return lower.hasSuffix(".") ? String(lower.dropLast()) : lower
    }

    private static func isLabel(_ label: Substring) -> Bool {
        (1...63).contains(label.utf8.count)
            && label.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
                case UInt8(ascii: "-"), UInt8(ascii: "_"): true
                default: false
                }
            }
    }
}

extension HostPattern: CustomStringConvertible {
    package var description: String { isWildcard ? "*.\(name)" : name }
}
