import Router
import RouterPlugin
import RouterTesting
import Testing

/// The keys that plans write: they follow from their changes, and decide which plans share a transaction.
@Suite("Plan keys")
struct PlanKeyTests {
    private static let A = SessionKey.gallery("A")
    private static let B = SessionKey.gallery("B")
    private static let phone = GateKey(application: .gallery, device: "phone")

    private static func key(_ text: String) -> DedupeKey {
        DedupeKey(application: .gallery, source: .push, key: text)
    }

    /// Two windows of a phone with a gate that A has opened, and the events of their registration delivered.
    private static func bench() throws -> Workbench {
        var application = Application.gallery(multipleScenes: true, lifeCycleEvents: true)
        application.gates.onboarding = OnboardingSettings()
        let scenes = [
            Scene("A", .foregroundActive, device: "phone"), Scene("B", .background, device: "phone"),
        ]
        var bench = try Workbench(application, scenes)
        try bench.run(.gate(.open(A)))
        let gate = try #require(bench.engine.gate(phone))
        try bench.run(.gate(.report(.succeed(storing: "person"), by: A, term: gate.term)))
        _ = try bench.deliverAll()
        return bench
    }

    @Test("A change names the keys of everything that it changes")
    func keysOfChanges() throws {
        var bench = try Self.bench()
        var notification = try #require(try bench.accept().accepted)
        notification.dedupeKeys = ["k"]
        notification.header.collapseID = "c"
        let session = try #require(bench.session("A"))
        let gate = try #require(bench.engine.gate(Self.phone))
        let collapse = try #require(CollapseKey(application: .gallery, device: nil, collapseID: "c"))
        let delivery = PlanKey.delivery(notification.sequence)
        // The set of discarded sessions that the delegate is told of.
        var discards = notification
        (discards.dedupeKeys, discards.header.collapseID) = ([], nil)
        discards.event = SceneEvent(.didDiscardSceneSessions)
        let rows: [(StoreChange, [PlanKey])] = [
            (.putApplication(.gallery()), [.application(.gallery)]),
            (.deleteApplication(.gallery), [.application(.gallery)]),
            (.beginDeletion(.gallery), [.application(.gallery)]),
            (.sweep(.gallery, limit: 9), [.application(.gallery)]),
            (.deleteSource("s"), [.source("s"), .sources]),
            (.putResourceSet(ResourceSet(name: "set", members: [])), [.resourceSets]),
            (.deleteKey(name: "ci"), [.keys]),
            (
                .log(
                    ChangeNote(key: nil, operation: "a", resource: "/", application: .gallery), at: .epoch, keeping: 1),
                []
            ),
            (.putRules(UsedRules(KeptRules(version: 1, origin: .request, document: []), [])), [.rules]),
            (.putSession(session), [.session(Self.A), .sessions(.gallery)]),
            (.deleteSession(Self.A), [.session(Self.A), .sessions(.gallery)]),
            (.putGate(gate), [.gate(Self.phone), .gates(.gallery)]),
            (.putPasscodeLock(bench.engine.passcodeLock(Self.phone)), [.gate(Self.phone)]),
            (.keepAnswer(Self.key("k"), .session(created: true), at: .epoch), [.dedupe(Self.key("k"))]),
            (.forgetAnswer(Self.key("k")), [.dedupe(Self.key("k"))]),
            (.insert(notification), [.notifications(.gallery), .dedupe(Self.key("k")), .collapse(collapse)]),
            (.insert(discards), [.notifications(.gallery), .discards(.gallery)]),
            (.addDedupeKeys(notification.sequence, [Self.key("k")]), [delivery, .dedupe(Self.key("k"))]),
            (.releaseDedupeKey(Self.key("k")), [.dedupe(Self.key("k"))]),
            (.recall(notification.sequence, .cancelled), [delivery]),
            (.reschedule(notification.sequence, progress: DeliveryProgress()), [delivery]),
            (.reassign(notification.sequence, notification.decision, .lane), [delivery]),
            (.settle(notification.sequence, .delivered, at: .epoch), [delivery]),
            (.forget(notification.sequence), [delivery]),
            (.forgetReplay("rpl_1"), [.replays]),
        ]
        for (change, expected) in rows {
            #expect(Plan(changes: [change]).writes == expected, "\(change)")
        }
    }

    /// Commands of which the second must not be planned without knowledge of the first one.
    static let conflicts: [(Command, Command)] = [
        (.gate(.reset(phone)), .gate(.open(A))),
        (.disconnectSession(A), .gate(.reset(phone))),
        (.gate(.reset(phone)), .disconnectSession(A)),
        (.beginBatch(key("b"), fingerprint: [1]), .beginBatch(key("b"), fingerprint: [2])),
    ]

    @Test("Plans about one gate or one key do not share a transaction", arguments: conflicts.indices)
    func conflict(row: Int) throws {
        let bench = try Self.bench()
        var batch = Batch()
        batch.append(try bench.plan(Self.conflicts[row].0))
        #expect(batch.conflicts(with: try bench.plan(Self.conflicts[row].1)))
    }

    @Test(
        "The answer of a scene and a reset of its gate do not share a transaction, though the session has nothing to wipe"
    )
    func answerAndReset() throws {
        var bench = try Self.bench()
        try bench.accept(device: "phone")
        let attempt = try #require(try bench.start().first)
        var patch = SessionPatch()
        patch.userInfo = ["name": "Ada"]
        var batch = Batch()
        batch.append(try bench.plan(.gate(.reset(Self.phone))))
        let answer = bench.finished(attempt, .status(200), answer: .change(patch))
        #expect(batch.conflicts(with: try bench.plan(answer)))
    }

    @Test("Repetitions that change nothing share a transaction")
    func repetitions() throws {
        var bench = try Self.bench()
        try bench.accept(keys: ["k"])
        var batch = Batch()
        let repetition = Command.accept(.of(keys: ["k"]))
        batch.append(try bench.plan(repetition))
        let second = try bench.plan(repetition)
        #expect(second.reply.duplicate != nil && second.writes.isEmpty)
        #expect(!batch.conflicts(with: second))
    }

}
