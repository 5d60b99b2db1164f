package import Router
package import RouterPlugin

/// The bytes of request bodies that are held, by sender.
///
///     ┌────────────────────── limit ──────────────────────┐
///     │ long bodies: three quarters        │ short ones   │
///     │ beyond a quarter of its own, a sender leaves a quarter free for the others
///
/// Bodies that are longer than any single document leave a quarter to the others, because the clients of a few batches may be
/// slow to take the answers. A sender that holds more than a quarter leaves another quarter free, so that slow bodies of one
/// sender, however many, do not keep out the small requests of another.
package struct BodyShares: Sendable {
    /// The holder of a share: the tenant of the API key; without a known key the address.
    package enum Sender: Hashable, Sendable {
        case tenant(ApplicationID?)
        case address(IPAddress?)
    }

    private let limit: Int
    private var total = 0
    private var held: [Sender: Int] = [:]

    /// - Parameter limit: The greatest number of bytes that are held at once.
    package init(limit: Int) { self.limit = limit }

    /// Whether a sender may hold more bytes of a body.
    ///
    /// - Parameter size: The size of the whole body, as far as it is known.
    package func hasRoom(for bytes: Int, of sender: Sender, bodyOf size: Int) -> Bool {
        let (sum, overflows) = total.addingReportingOverflow(bytes)
        let room = limit / 4 * (size > DaemonLimits.bodyBytes ? 3 : 4)
        guard !overflows, sum <= room else { return false }
        return held[sender, default: 0] + bytes <= limit / 4 || sum <= limit / 4 * 3
    }

    /// Holds more bytes of a body, if the sender may; says whether it does.
    package mutating func hold(_ bytes: Int, of sender: Sender, bodyOf size: Int) -> Bool {
        guard hasRoom(for: bytes, of: sender, bodyOf: size) else { return false }
        total += bytes
        held[sender, default: 0] += bytes
        return true
    }

    package mutating func release(_ bytes: Int, of sender: Sender) {
        total -= bytes
        guard let own = held[sender] else { return }
        held[sender] = own > bytes ? own - bytes : nil
    }
}
