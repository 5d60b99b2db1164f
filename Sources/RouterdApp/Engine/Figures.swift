/// Durations of the last few thousand runs of one operation.
package struct RecentTimes: Sendable {
    private static let capacity = 4096

    /// How often the operation ran since the start.
    package private(set) var count = 0
    /// Nanoseconds, in a ring.
    private var times: [UInt32] = []

    package init() {}

    package mutating func add(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let nanoseconds = UInt32(clamping: seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
        if times.count < Self.capacity {
            times.append(nanoseconds)
        } else {
            times[count % Self.capacity] = nanoseconds
        }
        count += 1
    }

    /// Nanoseconds within which the given shares of the last runs ended, by nearest rank; nil if there was no run.
    package func percentiles(_ shares: [Double]) -> [UInt32]? {
        guard !times.isEmpty else { return nil }
        let sorted = times.sorted()
        return shares.map { share in
            sorted[min(sorted.count - 1, max(0, Int((share * Double(sorted.count)).rounded(.up)) - 1))]
        }
    }
}

/// The sizes of the engine's collections.
package struct EngineFigures: Sendable {
    package var applications: Int
    package var sessions: Int
    package var lanes: Int
    package var inFlight: Int
    /// The number of events of each kind since the start, in order of the kinds' names.
    package var events: [DeliveryEventKind: Int]
}
