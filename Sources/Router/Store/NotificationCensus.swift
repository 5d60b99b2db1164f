/// How many notifications and events were accepted, and where they are; `accepted` equals the sum of the rest.
package struct NotificationCensus: Hashable, Sendable {
    package var accepted: Int
    /// A forgotten notification counts under the state that it ended in.
    package var byState: [NotificationState: Int]
    /// How many of them have been forgotten.
    package var forgotten: Int

    /// The remainder of the conservation law: 0 unless a notification is lost.
    package var unaccounted: Int { accepted - byState.values.reduce(0, +) }

    package init(accepted: Int, byState: [NotificationState: Int], forgotten: Int = 0) {
        self.accepted = accepted
        self.byState = byState
        self.forgotten = forgotten
    }
}
