/// Counts of events at receivers that connect out.
package struct StreamStatistics: Hashable, Sendable {
    /// Connections, and among them connections that took over from an older one.
    package var connections = 0
    package var takeovers = 0
    /// Connections that their receiver ended, and connections that ended because the session is not reached by a stream any
    /// more.
    package var ends = 0
    package var cuts = 0
    /// Messages that a receiver read, and messages that were handed back because none did.
    package var messages = 0
    package var unwritten = 0
    /// Attempts that ended without an answer, by a limit of time or with their connection.
    package var timeouts = 0
    package var losses = 0
    /// Deliveries that ended by an acknowledgement of the attempt under way, and by a later one.
    package var taken = 0
    package var late = 0
    /// Among the later ones, acknowledgements of messages that an earlier life of the process had sent.
    package var afterCrash = 0
    /// Acknowledgements of deliveries that had ended before.
    package var repeated = 0
    /// Acknowledgements that were refused as unknown, and those that the store could not keep.
    package var unknown = 0
    package var unkept = 0
    /// Refusals by receivers of messages under way.
    package var refusals = 0
    /// Sessions that were unattached because no receiver came back.
    package var lapses = 0
    /// Deliveries that left sessions that could not be reached.
    package var redecided = 0

    package init() {}

    package static func + (left: Self, right: Self) -> Self {
        var sum = left
        sum.connections += right.connections
        sum.takeovers += right.takeovers
        sum.ends += right.ends
        sum.cuts += right.cuts
        sum.messages += right.messages
        sum.unwritten += right.unwritten
        sum.timeouts += right.timeouts
        sum.losses += right.losses
        sum.taken += right.taken
        sum.late += right.late
        sum.afterCrash += right.afterCrash
        sum.repeated += right.repeated
        sum.unknown += right.unknown
        sum.unkept += right.unkept
        sum.refusals += right.refusals
        sum.lapses += right.lapses
        sum.redecided += right.redecided
        return sum
    }
}
