import RouterPlugin

extension LanePlanner {
    /// Whose attempts are under way at an origin, and who waits for one of his to end.
    ///
    /// It says something only when nearly as many are under way as there may be. Until then nobody counts, because every
    /// attempt would pay for it.
    ///
    ///     under way   0 ──────────── half ──────── eight of nine ──── all
    ///     counted     │      no      │   if it was     │      yes      │
    struct OriginShares: Sendable {
        private var shares: [ApplicationID: Use] = [:]
        /// Applications of which lanes wait, longest first; perhaps some that do so no more.
        private var crowded: [ApplicationID] = []

        func underWay(of application: ApplicationID) -> Int { shares[application]?.underWay ?? 0 }

        /// An attempt starts, or has started before anybody counted.
        mutating func start(_ application: ApplicationID) { shares[application, default: Use()].underWay += 1 }

        mutating func end(_ application: ApplicationID) {
            shares[application]?.underWay -= 1
            if shares[application]?.isUnused == true { shares[application] = nil }
        }

        /// Those of which lanes wait, and that have fewer under way.
        mutating func crowded(below most: Int) -> [ApplicationID] {
            crowded = crowded.filter { isAwaited(by: $0) }
            return crowded.filter { underWay(of: $0) < most }
        }

        var isAwaited: Bool { crowded.contains(where: isAwaited) }

        func isAwaited(by application: ApplicationID) -> Bool { shares[application]?.waiting.isEmpty == false }

        /// The next lane that waits for the application's share.
        mutating func popFirst(of application: ApplicationID, _ urgency: Priority) -> SessionKey? {
            shares[application]?.waiting.popFirst(urgency)
        }

        /// A lane is to wait for the application's share.
        mutating func crowd(_ application: ApplicationID, _ stand: (inout WaitingLanes) -> Void) {
            stand(&shares[application, default: Use()].waiting)
            if !crowded.contains(application) { crowded.append(application) }
        }
    }
}
