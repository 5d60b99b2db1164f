import Router
import RouterPlugin

/// Watches a simulated world and reports broken promises.
///
/// It sees commits, attempts, arrivals and answers, in that order, and looks into the engine only to compare it with
/// the expected state. Each finding begins with the invariant's number in the design (`12.n`) or the number of the
/// promise (`Pn`).
struct Witness {
    private static let maximum = 10

    var ledger = Ledger()
    /// The rules as last committed, and their version.
    private(set) var rules: [any RoutingRule]
    private(set) var rulesVersion: Int64 = 0
    let caps: DeliveryCaps
    let retention: RetentionPolicy
    var watch = EndpointWatch()
    var scenes = SceneWatch()
    var streams = StreamWatch()
    /// Sessions that clients are about to register.
    var registering: Set<SessionKey> = []
    private(set) var violations: [String] = []
    /// Notifications that were answered with 202.
    var acknowledged: [NotificationSequence] = []
    /// The responsible session of each gate and term.
    var reigns: [GateKey: [Int64: SessionID]] = [:]
    var passcodes = PasscodeWatch()
    /// Notifications that waited at a gate when it was reset, and are not for the next person.
    var forgotten: [NotificationSequence: GateKey] = [:]
    /// The gates that held notifications before the current transaction.
    var waiting: Set<GateKey> = []
    /// Held notifications whose session had left the gate, before the current transaction.
    var misaddressed: Set<NotificationSequence> = []
    /// The application that the current transaction deletes.
    var endsOf: ApplicationID?
    /// Notifications that a newer one supersedes, in the current transaction.
    var obsolete: [LedgerEntry] = []
    /// Notifications whose schedule has ended and that may be re-routed, in the current transaction. The value is true
    /// if one must not be, because it may have arrived.
    var exhausted: [NotificationSequence: Bool] = [:]
    /// Lanes that clients have resumed.
    var resumed: Set<SessionKey> = []
    /// Deliveries that receivers have refused after the time of the attempt, with a time for the next one.
    var postponed: Set<NotificationSequence> = []
    /// Notifications that clients have recalled.
    var calledBack: Set<NotificationID> = []
    /// Replays as last committed.
    var replays: [ReplayID: Replay] = [:]
    /// The sessions that each broadcast has given a notification.
    var broadcasts: [NotificationID: Set<SessionID>] = [:]
    /// Notifications of the current transaction that are for one session alone.
    var parts: Set<NotificationID> = []
    /// Applications for which the current transaction creates a session: later decisions have to know it.
    var deciding: Set<ApplicationID> = []

    init(rules: [any RoutingRule], caps: DeliveryCaps, retention: RetentionPolicy) {
        self.rules = rules
        self.caps = caps
        self.retention = retention
    }

    /// Rules take the place of those in use: under the next version.
    mutating func replaced(by used: UsedRules) {
        let version = rulesVersion
        require(used.kept.version == version + 1, "the rules of version \(version) became \(used.kept.version)")
        (rules, rulesVersion) = (used.rules, used.kept.version)
    }

    mutating func require(_ condition: Bool, _ violation: @autoclosure () -> String) {
        guard !condition, violations.count < Self.maximum else { return }
        violations.append(violation())
    }

    mutating func fail(_ violation: String) { require(false, violation) }

    // MARK: - Answers

    mutating func answered(_ request: AcceptRequest, _ reply: Reply) {
        switch reply {
        case .accepted(let accepted):
            let entry = ledger.entries[accepted.sequence]
            require(entry != nil, "acceptance: acknowledged, but not committed: \(accepted.id)")
            require(
                entry?.accepted.id == accepted.id && entry?.accepted.payload.bytes == request.notification.payload
                    && entry?.accepted.device == request.device,
                "acceptance: acknowledged with other contents: \(accepted.id)")
            acknowledged.append(accepted.sequence)
        case .duplicate(let receipt):
            require(
                request.dedupeKeys.allSatisfy { ledger.named(by: $0) == receipt.sequence },
                "deduplication: a duplicate of something else: \(receipt.id)")
            require(
                ledger.entries[receipt.sequence].map { isRepeated($0, by: request) } == true,
                "deduplication: a duplicate that is none: \(receipt.id)")
        case .refused(.idempotencyConflict):
            let named = Set(request.dedupeKeys.compactMap { ledger.named(by: $0) })
            let names = request.dedupeKeys.flatMap { ledger.names(of: $0) }
            require(
                named.count > 1
                    || names.contains { ledger.entries[$0].map { isRepeated($0, by: request) } == false },
                "deduplication: a conflict with nothing: \(request.notification.dedupeKeys)")
        case .refused(.unknownApplication), .refused(.applicationDeleting), .refused(.storeUnavailable): break
        case .refused(.contentIDMissing):
            require(
                request.notification.contentID == nil,
                "a notification is refused for want of a content id that it has")
        case .refused(.scene(.unlistedActivityType(let type))):
            require(!["edit", "kiosk"].contains(type), "an activity is refused that every manifest lists: \(type)")
        default: fail("a producer was answered \(reply)")
        }
    }

    func isRepeated(_ entry: LedgerEntry, by request: AcceptRequest) -> Bool {
        entry.accepted.payload.bytes == request.notification.payload && entry.accepted.device == request.device
            && (entry.accepted.broadcast == nil) == (request.broadcast == nil)
    }

    mutating func answered(callingBack id: NotificationID, _ reply: Reply) {
        let entry = ledger.sequences[id].flatMap { ledger.entries[$0] }
        switch reply {
        case .cancelled(.cancelled):
            require(entry?.state == .cancelled, "called back, says the router: \(id) is \(entry?.state as Any)")
        case .cancelled(.inFlight):
            require(entry?.recall != nil || entry?.isSettled == true, "called back on its way, and forgotten: \(id)")
        case .refused(.settled(id, let state)):
            require(entry?.state == state && state.isSettled, "not called back for another reason: \(id), \(state)")
        case .refused(.unknownNotification(id)):
            require(entry?.isForgotten == true, "called back, and not known any more: \(id)")
        case .refused(.storeUnavailable): break
        default: fail("the recall of \(id) was answered \(reply)")
        }
    }

    // MARK: - Crashes and the store

    /// Records the death of the process; attempts under way are in doubt.
    mutating func crashed() {
        watch = EndpointWatch()
        passcodes.interrupted.formUnion(ledger.registrations.locks.values.compactMap(\.current))
        for sequence in ledger.unsettled where ledger.entries[sequence]?.underWay != nil {
            ledger.entries[sequence]?.lost += 1
            ledger.entries[sequence]?.isAmbiguous = true
            ledger.entries[sequence]?.underWay = nil
            ledger.entries[sequence]?.isLive = false
        }
    }

    /// Checks the acknowledged notifications in the store: all of them, or a range.
    mutating func checkAcknowledged(_ range: Range<Int>, in store: any Store) {
        for sequence in acknowledged[range] {
            guard let entry = ledger.entries[sequence] else { continue }
            let stored = try? store.notification(entry.accepted.id)
            if entry.isForgotten {
                require(stored == nil, "forgotten and kept: \(entry.accepted.id)")
                continue
            }
            require(stored != nil, "acceptance: acknowledged and lost: \(entry.accepted.id)")
            require(
                stored?.payload == entry.accepted.payload && stored?.decision == entry.decision
                    && stored?.state == entry.state && stored?.attempts.count == entry.recorded,
                "acceptance: acknowledged and kept differently: \(entry.accepted.id)")
        }
    }

    /// Accepted = settled + waiting + in flight + held, by every count.
    mutating func checkConservation(_ engine: Engine, _ store: any Store) {
        guard let census = try? store.census() else { return fail("conservation: the store cannot count") }
        let (expected, unsettled) = (ledger.census, ledger.unsettled.count)
        require(census == expected, "conservation: the store counts \(census), there are \(expected)")
        require(
            census.accepted == census.byState.values.reduce(0, +),
            "conservation: accepted is not the sum of its parts: \(census)")
        require(
            engine.unsettledCount == unsettled,
            "conservation: the engine holds \(engine.unsettledCount) notifications, \(unsettled) are not settled")
        require(
            engine.held.count == census.byState[.held, default: 0],
            "conservation: the engine holds back \(engine.held.count), the store \(census.byState[.held, default: 0])")
        let underWay = ledger.unsettled.count { ledger.entries[$0]?.underWay != nil }
        require(
            engine.planner.inFlight == underWay,
            "conservation: the engine has \(engine.planner.inFlight) in flight, \(underWay) attempts are under way")
    }
}
