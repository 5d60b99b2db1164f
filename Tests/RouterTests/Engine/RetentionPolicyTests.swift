import Router
import RouterPlugin
import Testing

/// When finished records are deleted, and when they are kept.
@Suite("Retention policy")
struct RetentionPolicyTests {
    private static let limit = RouterLimits.forgottenPerTransaction

    private static func item(_ number: Int64, at milliseconds: Int64, bytes: Int = 0) -> Retained.Item {
        Retained.Item(
            .notification(NotificationSequence(number)), since: Timestamp(milliseconds: milliseconds), bytes: bytes)
    }

    /// Ages of the records in milliseconds, oldest first; how many of them are deleted, and the milliseconds to the
    /// next check.
    struct Row: CustomTestStringConvertible {
        var policy: RetentionPolicy
        var size: Int64 = 0
        var ages: [Int64]
        var goes: Int
        var looksIn: Int64?
        var testDescription: String { "\(policy), \(size) bytes: \(ages)" }
    }

    private static let aged = RetentionPolicy(ageMilliseconds: 1_000_000, repeatMilliseconds: 100_000)
    private static let sized = RetentionPolicy(maximumBytes: 500, repeatMilliseconds: 100_000)
    private static let both = RetentionPolicy(
        ageMilliseconds: 1_000_000, maximumBytes: 500, repeatMilliseconds: 100_000)

    static let rows: [Row] = [
        Row(policy: .unlimited, size: .max, ages: [.max / 2], goes: 0, looksIn: nil),
        Row(policy: aged, ages: [], goes: 0, looksIn: nil),
        Row(policy: aged, size: .max, ages: [1_000_000, 999_999], goes: 1, looksIn: nil),
        Row(policy: aged, ages: [800_000, 10], goes: 0, looksIn: 200_000),
        Row(policy: aged, ages: [999_999], goes: 0, looksIn: RouterLimits.retentionPauseMilliseconds),
        Row(policy: sized, size: 500, ages: [2_000_000], goes: 0, looksIn: nil),
        Row(policy: sized, size: 501, ages: [2_000_000, 100_000, 99_999], goes: 2, looksIn: nil),
        Row(policy: sized, size: 501, ages: [20_000], goes: 0, looksIn: 80_000),
        Row(policy: both, size: 500, ages: [999_999, 0], goes: 0, looksIn: RouterLimits.retentionPauseMilliseconds),
        Row(policy: both, size: 500, ages: [1_000_000, 0], goes: 1, looksIn: nil),
        Row(policy: both, size: 501, ages: [100_001, 0], goes: 1, looksIn: nil),
        // A record that a sender may repeat is kept, whatever its age.
        Row(
            policy: RetentionPolicy(ageMilliseconds: 10, repeatMilliseconds: 100_000), ages: [99_999], goes: 0,
            looksIn: RouterLimits.retentionPauseMilliseconds),
    ]

    @Test("Old records are deleted, and excess ones if they are not too young", arguments: rows)
    func steps(_ row: Row) {
        let now = Timestamp(milliseconds: 1_700_000_000_000)
        let items = row.ages.enumerated().map { Self.item(Int64($0), at: now.milliseconds - $1) }
        let step = row.policy.step(Retained(bytes: row.size, oldest: items), at: now)
        #expect(step.forget == Array(items.prefix(row.goes)))
        #expect(step.lookAgainAt.map { $0.milliseconds - now.milliseconds } == row.looksIn)
    }

    @Test("No more records are deleted for the size than needed")
    func enough() {
        let policy = RetentionPolicy(maximumBytes: 1000)
        let items = (0..<9 as Range<Int64>).map { Self.item($0, at: $0, bytes: 100) }
        let counts = [1000, 1001, 1100, 1101].map { size in
            policy.step(Retained(bytes: size, oldest: items), at: .second(1)).forget.count
        }
        #expect(counts == [0, 1, 1, 2])
    }

    @Test("A transaction deletes a bounded number of records and bytes, but at least one record")
    func bounds() {
        let policy = RetentionPolicy(ageMilliseconds: 0)
        func forgotten(_ sizes: [Int]) -> Int {
            let items = sizes.enumerated().map { Self.item(Int64($0), at: 0, bytes: $1) }
            return policy.step(Retained(bytes: 0, oldest: items), at: .second(1)).forget.count
        }
        let most = RouterLimits.forgottenBytesPerTransaction
        #expect(forgotten(Array(repeating: 1, count: 3 * Self.limit)) == Self.limit)
        #expect(forgotten([most / 2, most / 2, 1]) == 2)
        #expect(forgotten([2 * most, 2 * most]) == 1)
    }
}
