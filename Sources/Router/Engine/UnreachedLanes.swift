package import RouterPlugin

/// One step of a redecision: a bounded number of deliveries, from a place on.
package struct RedecisionStep: Hashable, Sendable {
    /// Lanes to examine.
    package enum Scope: Hashable, Sendable {
        /// All noted lanes of the application.
        case all
        /// One of them.
        case lane
        /// One lane with a silent receiver: deliveries up to this one follow the delivery that moved on.
        case silent(through: NotificationSequence)
    }

    package let application: ApplicationID
    package let scope: Scope
    /// The first lane; nil for the first noted one.
    package var session: SessionID?
    /// The last examined delivery of that lane.
    package var after: NotificationSequence?

    init(
        _ application: ApplicationID, _ scope: Scope, at session: SessionID? = nil, after: NotificationSequence? = nil
    ) {
        self.application = application
        self.scope = scope
        self.session = session
        self.after = after
    }
}

extension FollowUp {
    /// Whether it belongs into the round of its plan: the first step for a silent receiver.
    var isUrgent: Bool {
        guard case .redecide(let step) = self, case .silent = step.scope else { return false }
        return step.after == nil
    }
}

/// Lanes without reachable receivers, by application, and the schedule of searches for other receivers.
///
///     lane without a receiver ──▶ note ──▶ its redecision, at the end of its grace period
///                                  │
///     a session can be reached ────┴────▶ a redecision of all noted lanes: one at a time, with a pause behind it
///
/// Redecisions of all lanes take a tenth of the time at most. The state belongs to the node and is rebuilt after a start.
struct UnreachedLanes: Sendable {
    private var applications: [ApplicationID: Noted] = [:]

    private struct Noted: Sendable {
        var order = OrderedIDs<SessionID>()
        /// The last examined delivery by lane; 0 for none.
        var examined: [SessionID: NotificationSequence] = [:]
        var isUnderWay = false
        var isWantedAgain = false
        var effort: Int64 = 0
        var pauseEnd = Timestamp(milliseconds: .min)
    }

    func contains(_ application: ApplicationID) -> Bool {
        !applications.isEmpty && applications[application] != nil
    }

    /// Notes a lane; returns its last examined delivery.
    mutating func note(_ key: SessionKey) -> NotificationSequence {
        if let known = applications[key.application]?.examined[key.session] { return known }
        let none = NotificationSequence(0)
        applications[key.application, default: Noted()].examined[key.session] = none
        applications[key.application]?.order.insert(key.session)
        return none
    }

    /// Records the last examined delivery of a noted lane.
    mutating func examined(_ key: SessionKey, through sequence: NotificationSequence) {
        guard let known = applications[key.application]?.examined[key.session], known < sequence else { return }
        applications[key.application]?.examined[key.session] = sequence
    }

    /// Lowers the place of a noted lane for a new delivery before it: a released or moved one may be earlier than others.
    mutating func insert(_ sequence: NotificationSequence, in key: SessionKey) {
        guard let known = applications[key.application]?.examined[key.session], known >= sequence else { return }
        applications[key.application]?.examined[key.session] = NotificationSequence(sequence.value - 1)
    }

    mutating func forget(_ key: SessionKey) {
        guard contains(key.application),
            applications[key.application]?.examined.removeValue(forKey: key.session) != nil
        else { return }
        applications[key.application]?.order.remove(key.session)
        if applications[key.application]?.examined.isEmpty == true { applications[key.application] = nil }
    }

    mutating func forget(_ application: ApplicationID) {
        if contains(application) { applications[application] = nil }
    }

    /// The next noted lane of an application, in order of sessions.
    func next(after session: SessionID?, in application: ApplicationID) -> SessionID? {
        var found: SessionID?
        applications[application]?.order.visit(after: session) {
            found = $0
            return false
        }
        return found
    }

    // MARK: Redecisions of all lanes

    /// The time of the next search; nil without noted lanes.
    func nextTime(in application: ApplicationID, at now: Timestamp) -> Timestamp? {
        guard contains(application) else { return nil }
        return applications[application].map { max(now, $0.pauseEnd) }
    }

    /// Begins a search; false without noted lanes, and during another search, after which this one follows.
    mutating func begin(in application: ApplicationID) -> Bool {
        guard var noted = applications[application] else { return false }
        defer { applications[application] = noted }
        if noted.isUnderWay {
            noted.isWantedAgain = true
            return false
        }
        (noted.isUnderWay, noted.effort) = (true, 0)
        return true
    }

    /// Adds the estimated time of a step, in microseconds.
    mutating func add(effort: Int64, in application: ApplicationID) { applications[application]?.effort += effort }

    /// Ends a search and begins its pause. Returns whether another search is wanted.
    mutating func finish(in application: ApplicationID, at now: Timestamp) -> Bool {
        guard var noted = applications[application] else { return false }
        let isWantedAgain = noted.isWantedAgain
        noted.pauseEnd = now.advanced(byMilliseconds: noted.effort * RouterLimits.redecisionPause / 1000)
        (noted.isUnderWay, noted.isWantedAgain) = (false, false)
        applications[application] = noted
        return isWantedAgain
    }
}
