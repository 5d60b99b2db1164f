import RouterPlugin

/// A session's rank as one number, the greater the better; values out of range are clamped to the ends, never
/// misplaced.
///
///     63       62 … 51             50 49    48 … 6                          5 … 1    0
///     prefers  level + 2048        state    last activation in ms + 2        zero     a session
///
/// Two sessions with different numbers in a tier rank in that order. Two with the same number rank by creation, unless
/// one of them was clamped: then `ExactRanks` decides. A clamped level says nothing about the order among levels at its
/// end, so in tier `prefers` the bits behind it do not count.
struct PackedRank {
    static let prefersBit: UInt64 = 1 << 63
    private static let levels: UInt64 = 0xFFF << 51
    private static let latest: Int64 = 1 << 43 - 3
    /// The levels with a number of their own; all others share the two ends.
    private static let exactLevels = -2047...2046

    /// The rank within tier `prefers`, without the bit of the tier.
    let bits: UInt64
    /// Whether no part was clamped.
    let isExact: Bool

    init(level: Int, state: ActivationState, lastActivatedAt: Timestamp?) {
        let shownLevel = min(max(level, -2048), 2047)
        let time = lastActivatedAt?.milliseconds ?? .min
        let shownTime = time == .min ? 0 : time < 0 ? 1 : UInt64(min(time, Self.latest)) + 2
        bits = UInt64(shownLevel + 2048) << 51 | UInt64(state.rawValue) << 49 | shownTime << 6 | 1
        isExact = Self.exactLevels ~= level && (time == .min || 0...Self.latest ~= time)
    }

    /// The number that counts in a tier; zero stays zero.
    @inline(__always)
    static func inTier(_ tier: MatchTier, _ bits: UInt64) -> UInt64 {
        guard tier == .prefers else { return bits & ~levels }
        let level = bits & levels
        return level == 0 || level == levels ? prefersBit | level | bits & 1 : prefersBit | bits
    }

    static func level(_ bits: UInt64) -> Int { Int(bits >> 51 & 0xFFF) - 2048 }

    /// The state, as a number; the greater the better.
    static func state(_ bits: UInt64) -> UInt64 { bits >> 49 & 3 }
}

/// The exact ranks of sessions whose packed rank was clamped. A class, so that reading it counts no references.
final class ExactRanks {
    struct Rank {
        var level: Int
        var lastActivatedAt: Int64
        var creationSequence: Int64
    }

    var bySlot: [UInt32: Rank] = [:]

    init(_ bySlot: [UInt32: Rank] = [:]) { self.bySlot = bySlot }
}
