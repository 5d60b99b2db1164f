package import RouterPlugin

/// How long records are kept that no client waits for any more: settled notifications with all that belongs to them, and
/// kept answers to requests.
///
///     settled ───────────────▶ repeats ──────────────────────────▶ age ─────────▶
///             kept in any case         kept unless the store            forgotten
///                                      is larger than it may be
///
/// Unsettled notifications are never forgotten.
package struct RetentionPolicy: Hashable, Sendable {
    /// The age at which a record is forgotten; nil keeps it permanently.
    package var ageMilliseconds: Int64?
    /// The size of the store beyond which the oldest records are forgotten before their time; nil sets no limit.
    package var maximumBytes: Int64?
    /// The time for which a record is kept however large the store is: repetitions of senders are known by it.
    package var repeatMilliseconds: Int64

    /// Keeps everything.
    package static let unlimited = RetentionPolicy()

    package init(ageMilliseconds: Int64? = nil, maximumBytes: Int64? = nil, repeatMilliseconds: Int64 = 0) {
        self.ageMilliseconds = ageMilliseconds.map { max($0, repeatMilliseconds) }
        self.maximumBytes = maximumBytes
        self.repeatMilliseconds = repeatMilliseconds
    }

    /// The next step.
    package struct Step: Hashable, Sendable {
        /// Oldest first, and no more than a transaction bears.
        package var forget: [Retained.Item]
        /// When there may be more, if nothing is to be forgotten now; nil if that depends on new records.
        package var lookAgainAt: Timestamp?
    }

    package func step(_ retained: Retained, at now: Timestamp) -> Step {
        var step = Step(forget: [])
        // Indexes shrink too, so this is more than is left over in the end.
        var excess = maximumBytes.map { retained.bytes - $0 } ?? 0
        var bytes = 0
        for item in retained.oldest.prefix(RouterLimits.forgottenPerTransaction) {
            guard let age = excess > 0 ? repeatMilliseconds : ageMilliseconds else { break }
            let due = item.since.advanced(byMilliseconds: age)
            guard due <= now else {
                // An application that settles a notification every second would cause a transaction every second.
                let earliest = now.advanced(byMilliseconds: RouterLimits.retentionPauseMilliseconds)
                if step.forget.isEmpty { step.lookAgainAt = max(due, earliest) }
                break
            }
            bytes += item.bytes
            if !step.forget.isEmpty, bytes > RouterLimits.forgottenBytesPerTransaction { break }
            step.forget.append(item)
            excess -= Int64(item.bytes)
        }
        return step
    }

    /// By when to look whether something that ends at that time is to be forgotten; nil if it never is.
    func look(after end: Timestamp) -> Timestamp? {
        // How large the store will be then is not known; by its age it goes later at most.
        let age = maximumBytes == nil ? ageMilliseconds : repeatMilliseconds
        return age.map { end.advanced(byMilliseconds: $0) }
    }

    /// How many bytes may be written until it is worth looking how large the store is; nil if that does not matter.
    var bytesBetweenLooks: Int? {
        maximumBytes.map { Int(min(Int64(RouterLimits.retentionLookBytes), $0 / 16)) }
    }
}
