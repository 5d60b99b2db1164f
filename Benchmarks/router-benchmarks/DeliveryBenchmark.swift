import PredicateEngine
import Router
import RouterPlugin

/// A notification's way through the engine, from the command to the last change applied: the daemon's work beside the
/// HTTP, the store and the sending that it cannot do without.
final class DeliveryBenchmark {
    /// The number of commands that share a transaction when the daemon is busy.
    private static let batch = 16
    private static let sessions = 64
    private static let application = ApplicationID(unchecked: "org.example.gallery")

    private var engine: Engine
    private var time: Int64 = 1_767_225_600_000
    private let requests: [AcceptRequest]

    init() throws {
        let ids = (0..<Self.sessions).map { SessionID(unchecked: "window-\($0)") }
        let sessions = try ids.enumerated().map { number, id in
            SceneSession(
                key: SessionKey(application: Self.application, session: id), role: SceneRole.windowApplication,
                configuration: "main",
                conditions: ActivationConditions(canActivate: try Predicate(format: "SELF ENDSWITH '/\(number)'")),
                endpoint: Endpoint(url: "http://127.0.0.1:8081/\(number)", keys: SigningKeys("whsec_bGlzdA==")),
                creationSequence: Int64(number))
        }
        let state = RecoveredState(applications: [Application(id: Self.application)], sessions: sessions)
        engine = Engine(recovering: state, generator: SequenceGenerator())
        requests = (0..<Self.sessions).map { number in
            AcceptRequest(
                application: Self.application, source: PluginID(unchecked: "routerd.source.push"), device: nil,
                notification: IncomingNotification(
                    contentID: ContentID(unchecked: "gallery://photo/\(number)"),
                    payload: [UInt8](repeating: UInt8(ascii: "x"), count: 1024)))
        }
    }

    var delivered: Benchmark {
        Benchmark(name: "accepted and delivered, 64 lanes", operations: requests.count) { self.deliver() }
    }

    /// Accepts all requests, and answers every attempt with 204; returns how many were made.
    @inline(never)
    private func deliver() -> Int {
        var made = 0
        for start in stride(from: 0, to: requests.count, by: Self.batch) {
            time += 1
            let now = Timestamp(milliseconds: time)
            transact(requests[start..<start + Self.batch].map { .accept($0) }, at: now)
            let started = engine.startAttempts(at: now).attempts
            made += started.count
            transact(started.map { .attemptFinished(Self.answer(to: $0, at: now)) }, at: now)
            _ = engine.takeEvents()
        }
        precondition(engine.unsettledCount == 0, "a notification has not been delivered")
        return made
    }

    private func transact(_ commands: [Command], at now: Timestamp) {
        var batch = Batch()
        for command in commands {
            guard let plan = try? engine.plan(command, Facts(), at: now), !batch.conflicts(with: plan) else {
                preconditionFailure("a command could not be planned")
            }
            batch.append(plan)
        }
        _ = engine.apply(batch.changes, at: now)
    }

    private static func answer(to attempt: AttemptStart, at now: Timestamp) -> FinishedAttempt {
        FinishedAttempt(
            sequence: attempt.notification.sequence, number: attempt.number, session: attempt.receiver.session,
            url: attempt.endpoint.url, startedAt: now,
            result: TransferResult(outcome: .response(ReceivedResponse(status: 204))))
    }
}

/// Numbers that are the same in every run.
private struct SequenceGenerator: RandomNumberGenerator, Sendable {
    private var random = Randomness(seed: 7)

    mutating func next() -> UInt64 { UInt64(random.draw(.max)) }
}
