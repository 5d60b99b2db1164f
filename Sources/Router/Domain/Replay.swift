package import RouterPlugin

/// Names a replay: `rpl_` and a ULID.
package typealias ReplayID = Identifier<ReplayKind>

package enum ReplayKind: IdentifierKind {
    package static let rule = IdentifierRule(name: "replay-id", maximumLength: 64) { $0 >= 0x20 && $0 != 0x7F }
}

/// What was settled when it was asked for, and is shown by a filter, is sent once more, oldest first and so many a second.
///
///     after the position                               through
///     ────────┬───────────────────────────────────────────┬──────▶ order of acceptance
///     is done │ is looked at next, a step at a time        │ came later, and stays as it is
///
/// A step is one transaction: what is accepted anew, and how far the replay has come. So none is replayed twice, whatever
/// happens between two steps.
package struct Replay: Hashable, Sendable {
    package enum State: String, CaseIterable, Sendable {
        case running, completed, cancelled
    }

    package let id: ReplayID
    /// Which notifications; those that were not settled when it was asked for are passed over.
    package let filter: NotificationFilter
    /// At most so many are accepted anew in a second.
    package let perSecond: Int
    /// How many there were when it was asked for: no more are sent or skipped.
    package let matched: Int
    /// The last one that is looked at.
    package let through: NotificationSequence
    /// When it was asked for.
    package let createdAt: Timestamp
    /// Under which the client may repeat the request, and a digest of it.
    package let request: RepeatedReplay?
    /// Everything up to here has been looked at.
    package var position: NotificationSequence
    package var replayed: Int
    /// How many were passed over because their application is gone.
    package var skipped: Int
    package var state: State
    /// Before that nothing more is replayed.
    package var resumesAt: Timestamp
    package var endedAt: Timestamp?

    package init(
        id: ReplayID, filter: NotificationFilter, perSecond: Int, matched: Int, through: NotificationSequence,
        createdAt: Timestamp, request: RepeatedReplay?, position: NotificationSequence, replayed: Int = 0,
        skipped: Int = 0, state: State = .running, resumesAt: Timestamp, endedAt: Timestamp? = nil
    ) {
        self.id = id
        self.filter = filter
        self.perSecond = perSecond
        self.matched = matched
        self.through = through
        self.createdAt = createdAt
        self.request = request
        self.position = position
        self.replayed = replayed
        self.skipped = skipped
        self.state = state
        self.resumesAt = resumesAt
        self.endedAt = endedAt
    }

    /// How many are left to be sent or skipped.
    package var left: Int { matched - replayed - skipped }

    /// How many a step replays at most: ten steps a second, unless there is less to do.
    package var stepSize: Int { min(max(1, perSecond / 10), max(0, left)) }

    /// How long to wait after a step that has replayed so many, in milliseconds.
    package func pauseMilliseconds(after count: Int) -> Int64 {
        Int64((count * 1000 + perSecond - 1) / perSecond)
    }

    package mutating func end(as state: State, at now: Timestamp) {
        self.state = state
        endedAt = now
    }
}

/// The key of a client's under which it may repeat its request for a replay, and a digest of the request.
package struct RepeatedReplay: Hashable, Sendable {
    package let key: String
    package let fingerprint: [UInt8]

    package init(key: String, fingerprint: [UInt8]) {
        self.key = key
        self.fingerprint = fingerprint
    }

    package static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.key.isSame(as: rhs.key) && lhs.fingerprint == rhs.fingerprint
    }
}

/// A replay as a client asks for it.
package struct ReplayDraft: Hashable, Sendable {
    package var filter: NotificationFilter
    package var perSecond: Int
    /// What the filter shows of what was settled at that time.
    package var tally: NotificationTally
    package var askedAt: Timestamp
    package var request: RepeatedReplay?

    package init(
        filter: NotificationFilter, perSecond: Int, tally: NotificationTally, askedAt: Timestamp,
        request: RepeatedReplay?
    ) {
        self.filter = filter
        self.perSecond = perSecond
        self.tally = tally
        self.askedAt = askedAt
        self.request = request
    }
}
