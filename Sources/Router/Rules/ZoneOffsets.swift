/// The differences of a time zone's local time from UTC, as they were and will be: a time zone without its database.
///
///     offsets   3600 ──────┤ 7200 ──────┤ 3600 ──────┤ …
///     changes              │            │            │        seconds since 1970
///
/// Invariant: `changes` ascend, and there is one offset more than there are changes.
package struct ZoneOffsets: Hashable, Sendable {
    /// The name, such as `Europe/Berlin`.
    package let name: String
    private let changes: [Int64]
    private let offsets: [Int64]

    /// - Parameters:
    ///   - first: The difference before the first change, in seconds.
    ///   - changes: The times in seconds since 1970, ascending, and the difference from then on.
    package init(name: String, first: Int64, changes: [(at: Int64, offset: Int64)] = []) {
        self.name = name
        self.changes = changes.map(\.at)
        offsets = [first] + changes.map(\.offset)
    }

    /// Coordinated universal time.
    package static let utc = ZoneOffsets(name: "UTC", first: 0)

    /// The difference from UTC in seconds at a time in seconds.
    func offset(at time: Int64) -> Int64 { offsets[place(of: time)] }

    /// The first change of the difference after a time; nil if there is none.
    func change(after time: Int64) -> Int64? {
        let place = place(of: time)
        return place < changes.count ? changes[place] : nil
    }

    /// The number of changes at or before a time.
    private func place(of time: Int64) -> Int {
        var (low, high) = (0, changes.count)
        while low < high {
            let middle = (low + high) / 2
            if changes[middle] <= time { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
