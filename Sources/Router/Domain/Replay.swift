package import RouterPlugin

/// Names a replay: `rpl_` and a ULID.
package typealias ReplayID = Identifier<ReplayKind>

package enum ReplayKind: IdentifierKind {
    package static let rule = IdentifierRule(name: "replay-id", maximumLength: 64) { $0 >= 0x20 && $0 != 0x7F }
}

/// A replay sends settled notifications again: those that a filter selects and that were settled at the time of the
/// request, oldest first, at most `perSecond` a second.
///
///     after the position                               through
///     ────────┬───────────────────────────────────────────┬──────▶ order of acceptance
///     is done │ is looked at next, a step at a time        │ came later, and stays as it is
///
/// A step is one transaction that holds the notifications accepted again and the new position of the replay. So no
/// notification is replayed twice, whatever happens between two steps.
package struct Replay: Hashable, Sendable {
    package enum State: String, CaseIterable, Sendable {
        case running, completed, cancelled
    }

    package let id: ReplayID
    /// The filter; notifications that were not settled at the time of the request are skipped.
    package let filter: NotificationFilter
    /// Maximum number of notifications accepted again in a second.
    package let perSecond: Int
    /// The number of notifications at the time of the request: no more are sent or skipped.
    package let matched: Int
    /// The last notification that is looked at.
    package let through: NotificationSequence
    /// The time of the request.
    package let createdAt: Timestamp
    /// The client's key for repeating the request, and a digest of the request.
    package let request: RepeatedReplay?
    /// All notifications up to this position have been looked at.
    package var position: NotificationSequence
    package var replayed: Int
    /// How many were skipped because their application was deleted.
    package var skipped: Int
    package var state: State
    /// The time of the next step.
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

    /// How many are still to be sent or skipped.
    package var left: Int { matched - replayed - skipped }

    /// Maximum number of notifications of a step: ten steps a second, unless there is less to do.
    package var stepSize: Int { min(max(1, perSecond / 10), max(0, left)) }

    /// The pause in milliseconds after a step that replayed `count` notifications.
    package func pauseMilliseconds(after count: Int) -> Int64 {
        Int64((count * 1000 + perSecond - 1) / perSecond)
    }

    package mutating func end(as state: State, at now: Timestamp) {
        self.state = state
        endedAt = now
    }
}

/// The key under which a client may repeat its request for a replay, and a digest of the request.
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

/// The replay that a client requests.
package struct ReplayDraft: Hashable, Sendable {
    package var filter: NotificationFilter
    package var perSecond: Int
    /// The tally of the filter at that time.
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
