/// A range of addresses with a common beginning: `10.0.0.0/8`, `fd00::/8`.
///
/// Invariant: the bits beyond the prefix are 0, so that each range has one form.
package struct IPNetwork: Hashable, Sendable {
    package let base: IPAddress
    /// How many leading bits all addresses of the range share.
    package let length: Int

    /// Reads `ADDRESS/LENGTH`; an address alone is the range of itself. An IPv4-mapped range becomes one of IPv4.
    package init(_ text: String) throws(InvalidGrantText) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = IPAddress(first) else {
            throw InvalidGrantText(reason: "must be an address or a range such as 10.20.0.0/16 or fd12:3456::/32")
        }
        var length = address.width
        if parts.count == 2 {
            guard parts[1].utf8.count <= 3, parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let read = Int(parts[1]), read <= address.width
            else {
                throw InvalidGrantText(reason: "must have a prefix length from 0 to \(address.width) after the slash")
            }
            length = read
        }
        let network = IPNetwork(containing: address, length: length)
        guard network.base == address else {
            throw InvalidGrantText(reason: "has bits beyond its prefix; the range is \(network)")
        }
        if address.unmapped != address, length >= 96 {
            self.init(containing: address.unmapped, length: length - 96)
        } else {
            self = network
        }
    }

    /// The range of that length around an address.
    package init(containing address: IPAddress, length: Int) {
        precondition((0...address.width).contains(length), "a prefix of \(length) bits of \(address)")
        switch address {
        case .v4(let number): base = .v4((number >> (32 - length)) << (32 - length))
        case .v6(let number): base = .v6((number >> (128 - length)) << (128 - length))
        }
        self.length = length
    }

    /// A range that is written in the source code.
    init(constant text: String) {
        do {
            self = try IPNetwork(text)
        } catch {
            preconditionFailure("\(text) \(error.reason)")
        }
    }

    package func contains(_ address: IPAddress) -> Bool {
        address.width == base.width && IPNetwork(containing: address, length: length).base == base
    }

    /// Whether every address of the other range is in this one.
    package func contains(_ other: IPNetwork) -> Bool {
        length <= other.length && contains(other.base)
    }
}

extension IPNetwork: CustomStringConvertible {
    package var description: String { "\(base)/\(length)" }
}
