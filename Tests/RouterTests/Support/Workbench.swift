import Router
import RouterPlugin
import RouterTesting

/// An engine with its store and its time, for tests that go step by step.
struct Workbench {
    var engine: Engine
    let store: ModelStore
    var now = Timestamp.epoch
    private let rules: [any RoutingRule]
    private let retention: RetentionPolicy

    init(
        rules: [any RoutingRule] = [], maximumInFlight: Int = 99, moveLimit: Int = RouterLimits.commandsPerTransaction,
        retention: RetentionPolicy = .unlimited, registration: RegistrationLimits = RegistrationLimits(),
        streamSlots: Int = RouterLimits.streamSlots
    ) {
        self.rules = rules
        self.retention = retention
        store = ModelStore()
        var caps = DeliveryCaps(slots: maximumInFlight)
        caps.streams = streamSlots
        engine = Engine(
            recovering: RecoveredState(), rules: rules, caps: caps,
            moveLimit: moveLimit, retention: retention, registration: registration,
            generator: SeededGenerator(seed: 1))
    }

    /// A bench with one application and its sessions.
    init(
        _ application: Application, _ scenes: [Scene], rules: [any RoutingRule] = [], maximumInFlight: Int = 99,
        moveLimit: Int = RouterLimits.commandsPerTransaction, retention: RetentionPolicy = .unlimited
    ) throws {
        self.init(rules: rules, maximumInFlight: maximumInFlight, moveLimit: moveLimit, retention: retention)
        try add(application, scenes)
    }

    mutating func add(_ application: Application, _ scenes: [Scene]) throws {
        try run(.putApplication(.of(application)))
        for scene in scenes {
            try run(.putSession(SessionKey(application: application.id, session: scene.id), .of(scene)))
        }
    }

    func plan(_ command: Command) throws -> Plan {
        var copy = engine
        return try copy.plan(command, at: now, reading: store)
    }

    /// Plans, commits, applies; returns the answer and the follow-ups, which are not run.
    mutating func step(_ command: Command) throws -> (reply: Reply, followUps: [FollowUp]) {
        let plan = try engine.plan(command, at: now, reading: store)
        try store.commit(plan.changes)
        return (plan.reply, plan.followUps + engine.apply(plan.changes, at: now))
    }

    /// Runs a command and all its follow-ups.
    @discardableResult
    mutating func run(_ command: Command) throws -> Reply {
        let (reply, followUps) = try step(command)
        try follow(followUps)
        return reply
    }

    mutating func follow(_ followUps: [FollowUp]) throws {
        for followUp in followUps { try run(.followUp(followUp)) }
    }

    @discardableResult
    mutating func accept(
        _ content: ContentID? = "x", device: DeviceID? = nil, expiration: Expiration = .never, keys: [String] = [],
        payload: String = "{}", application: ApplicationID = .gallery
    ) throws -> Reply {
        try run(
            .accept(
                .of(content, device: device, expiration: expiration, keys: keys, payload: payload, to: application)))
    }

    @discardableResult
    mutating func patch(_ key: SessionKey, _ change: (inout SessionPatch) -> Void) throws -> Reply {
        var patch = SessionPatch()
        change(&patch)
        return try run(.patchSession(key, patch))
    }

    /// Starts the attempts that may start; expired deliveries are settled.
    mutating func start() throws -> [AttemptStart] {
        let started = engine.startAttempts(at: now)
        try follow(started.followUps)
        return started.attempts
    }

    @discardableResult
    mutating func finish(
        _ attempt: AttemptStart, _ result: TransferResult, answer: ReceiverAnswer? = nil
    ) throws -> Reply {
        try run(finished(attempt, result, answer: answer))
    }

    /// The command that reports the end of an attempt.
    func finished(_ attempt: AttemptStart, _ result: TransferResult, answer: ReceiverAnswer? = nil) -> Command {
        .attemptFinished(
            FinishedAttempt(
                sequence: attempt.notification.sequence, number: attempt.number, session: attempt.receiver.session,
                url: attempt.endpoint.address(of: attempt.receiver.session), startedAt: now, result: result,
                connects: attempt.connects, answer: answer))
    }

    /// Advances the time; due work is done.
    mutating func advance(to time: Timestamp) throws {
        now = time
        try follow(engine.due(at: now))
    }

    /// The process dies and starts again, with another random seed than before unless `seed` is the same.
    mutating func crash(seed: UInt64 = 2) throws {
        engine = Engine(
            recovering: try store.recover(), rules: rules, caps: DeliveryCaps(slots: 99), retention: retention,
            generator: SeededGenerator(seed: seed))
        try follow(engine.recoveryFollowUps)
    }

    /// The stored notification with that sequence.
    func stored(_ sequence: NotificationSequence) throws -> StoredNotification? {
        let all = try store.notifications(matching: NotificationFilter(), limit: .max)
        return try all.first { $0.sequence == sequence }.flatMap { try store.notification($0.id) }
    }

    func session(_ id: SessionID) -> SceneSession? {
        engine.session(SessionKey(application: .gallery, session: id))
    }
}

extension AcceptRequest {
    static func of(
        _ content: ContentID? = "x", device: DeviceID? = nil, expiration: Expiration = .never, keys: [String] = [],
        payload: String = "{}", to application: ApplicationID = .gallery
    ) -> AcceptRequest {
        AcceptRequest(
            application: application, source: .push, device: device,
            notification: IncomingNotification(
                contentID: content, payload: Array(payload.utf8), expiration: expiration, dedupeKeys: keys))
    }
}

extension ApplicationDraft {
    /// A draft that results in this application.
    static func of(_ application: Application) -> ApplicationDraft {
        var endpoints: [String: EndpointDraft] = [:]
        for configuration in application.manifest.sceneConfigurations {
            endpoints[configuration.name] = configuration.endpoint.map(EndpointDraft.of)
        }
        return ApplicationDraft(
            application: application, delegate: application.delegate.map(EndpointDraft.of), endpoints: endpoints)
    }
}

extension EndpointDraft {
    static func of(_ endpoint: Endpoint) -> EndpointDraft {
        EndpointDraft(url: endpoint.url, keys: endpoint.keys, freshSecret: "fresh", format: endpoint.format)
    }
}

extension SessionDraft {
    static func of(_ scene: Scene) -> SessionDraft {
        let session = scene.session(created: 0)
        return SessionDraft(
            device: session.device, activationState: session.activationState, conditions: session.conditions,
            endpoint: session.endpoint.map(EndpointDraft.of))
    }
}

extension Reply {
    var accepted: NewNotification? { if case .accepted(let new) = self { new } else { nil } }
    var duplicate: Receipt? { if case .duplicate(let receipt) = self { receipt } else { nil } }
    var refusal: Refusal? { if case .refused(let refusal) = self { refusal } else { nil } }
    var session: SceneSession? { if case .session(let session, _) = self { session } else { nil } }
    var application: Application? { if case .application(let application, _) = self { application } else { nil } }
}

extension SessionKey {
    /// A session of the application that most tests use.
    static func gallery(_ session: SessionID) -> SessionKey { SessionKey(application: .gallery, session: session) }
}
