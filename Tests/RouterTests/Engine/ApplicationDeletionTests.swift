import Router
import RouterPlugin
import RouterTesting
import Testing

/// The deletion of an application to which more belongs than a transaction bears.
@Suite("Engine: deletions in steps")
struct ApplicationDeletionTests {
    private static let limit = 4
    private static let other = SessionKey(application: .other, session: "O")

    /// Sessions A and B with deliveries that wait, one that is under way, and held ones.
    private static func bench(waiting: Int = 11, held: Int = 6, sessions: Int = 5) throws -> Workbench {
        let hold = SayingRule { $0.session == "H" ? .hold(until: .second(99), reason: "") : .accept }
        let scenes = (0..<sessions).map { Scene(SessionID(unchecked: "S\($0)"), can: "SELF == 's\($0 % 2)'") }
        var bench = try Workbench(
            .gallery(), scenes + [Scene("H", can: "SELF == 'h'")], rules: [hold], maximumInFlight: 1, moveLimit: limit)
        try bench.add(.gallery(.other), [Scene("O")])
        for number in 0..<waiting {
            try bench.accept(ContentID(unchecked: "s\(number % 2)"), keys: ["key-\(number)"])
        }
        for _ in 0..<held { try bench.accept("h") }
        return bench
    }

    /// Runs commands and their follow-ups one by one; `visit` sees every plan before it is committed.
    private static func run(
        _ command: Command, in bench: inout Workbench, _ visit: (inout Workbench, Plan) throws -> Void
    ) throws {
        var commands = [command]
        while let command = commands.first {
            commands.removeFirst()
            let plan = try bench.plan(command)
            try visit(&bench, plan)
            commands += try bench.step(command).followUps.map { .followUp($0) }
        }
    }

    private static func isRefused(_ command: Command, _ bench: Workbench) throws -> Bool {
        try bench.plan(command).reply.refusal == .applicationDeleting(.gallery)
    }

    @Test("No step changes more rows than the limit, and nothing is left")
    func steps() throws {
        var bench = try Self.bench()
        let attempt = try #require(try bench.start().first)
        #expect(attempt.receiver.application == .gallery)
        var rows: [Int] = []
        try Self.run(.deleteApplication(.gallery), in: &bench) { _, plan in
            rows.append(plan.changes.reduce(0) { $0 + $1.rows })
        }
        #expect(rows.max() == Self.limit)
        #expect(rows.count > 5)
        #expect(try bench.store.census().byState == [.deadLettered: 16, .waiting: 1], "one is on its way")
        try bench.finish(attempt, .status(500))
        #expect(try bench.store.census().byState == [.deadLettered: 17])
        #expect(bench.engine.unsettledCount == 0 && bench.engine.deletions.isEmpty)
        #expect(try bench.store.recover().sessions.map(\.key) == [Self.other])
        #expect(try bench.store.recover().deletions.isEmpty)
    }

    @Test("While it is being deleted, an application takes nothing, and its name is not free")
    func refusals() throws {
        var bench = try Self.bench()
        var steps = 0
        let key = SessionKey.gallery("S0")
        try Self.run(.deleteApplication(.gallery), in: &bench) { bench, _ in
            guard bench.engine.deletions[.gallery] != nil else { return }
            steps += 1
            #expect(try Self.isRefused(.accept(.of("s0")), bench))
            #expect(try Self.isRefused(.accept(.of("s0", keys: ["key-1"])), bench))
            #expect(try Self.isRefused(.putApplication(.of(.gallery())), bench))
            #expect(try Self.isRefused(.putSession(key, SessionDraft()), bench))
            #expect(try Self.isRefused(.patchSession(key, SessionPatch()), bench))
            #expect(try Self.isRefused(.deleteSession(key), bench))
            #expect(try Self.isRefused(.resume(key), bench))
            #expect(try Self.isRefused(.gate(.open(key)), bench))
            if case .deletionBegun = try bench.plan(.deleteApplication(.gallery)).reply {
            } else {
                Issue.record("A second request is not answered like the first one.")
            }
            #expect(try bench.accept("x", application: .other).accepted != nil)
            #expect(try bench.start().allSatisfy { $0.receiver.application == .other })
        }
        #expect(steps > 5)
        try bench.add(.gallery(), [Scene("A")])
        #expect(try bench.accept("x", keys: ["key-1"]).accepted != nil, "a key of the earlier application")
    }

    @Test("A deletion goes on after a crash, wherever that comes", arguments: 0..<16)
    func crash(after step: Int) throws {
        var bench = try Self.bench()
        _ = try bench.start()
        var number = 0
        var commands: [Command] = [.deleteApplication(.gallery)]
        while let command = commands.first {
            commands.removeFirst()
            commands += try bench.step(command).followUps.map { .followUp($0) }
            number += 1
            guard number == step else { continue }
            let state = try bench.store.recover()
            bench.engine = Engine(
                recovering: state, moveLimit: Self.limit, generator: SeededGenerator(seed: UInt64(step)))
            #expect(bench.engine.deletions[.gallery] != nil || bench.engine.tenants[.gallery] == nil)
            commands = bench.engine.recoveryFollowUps.map { .followUp($0) }
        }
        // The attempt that the crash has interrupted ends with the others.
        let left = step == 0 || step > number ? 1 : bench.engine.planner.inFlight
        #expect(bench.engine.unsettledCount == left)
        #expect(try bench.store.recover().applications.map(\.id) == [.other])
        #expect(try bench.store.recover().deletions.isEmpty && bench.engine.deletions.isEmpty)
    }

    @Test("A small application is deleted in one transaction")
    func little() throws {
        var bench = try Self.bench(waiting: 2, held: 1, sessions: 2)
        let plan = try bench.plan(.deleteApplication(.gallery))
        guard case .deleted = plan.reply else {
            Issue.record("Answered \(plan.reply).")
            return
        }
        #expect(plan.changes.first == .deleteApplication(.gallery) && plan.changes.count == 4)
        try bench.run(.deleteApplication(.gallery))
        #expect(try bench.store.census().byState == [.deadLettered: 3])
    }

    @Test("The sources of an application go first: their names may be taken at once")
    func sources() throws {
        var bench = try Self.bench()
        let source = SourceDefinition(id: "s", application: .gallery, kind: .push)
        try bench.run(.putSource(SourceDraft(definition: source, secrets: nil)))
        let step = try bench.step(.deleteApplication(.gallery))
        #expect(step.followUps == [.proceedDeletion(.gallery)])
        var taken = source
        taken.application = .other
        guard case .source(_, created: true) = try bench.run(.putSource(SourceDraft(definition: taken, secrets: nil)))
        else {
            Issue.record("The name is not free.")
            return
        }
        try bench.follow(step.followUps)
        #expect(bench.engine.sources["s"]?.application == .other)
    }

    @Test("A delivery whose attempt fails between two steps is not tried again")
    func failure() throws {
        var bench = try Self.bench(waiting: 30)
        let attempt = try #require(try bench.start().first)
        var step = try bench.step(.deleteApplication(.gallery))
        let outcome = try bench.step(bench.finished(attempt, .status(500)))
        #expect(outcome.followUps.isEmpty, "the steps of the deletion come to it")
        while !step.followUps.isEmpty {
            #expect(step.followUps == [.proceedDeletion(.gallery)])
            step = try bench.step(.followUp(.proceedDeletion(.gallery)))
        }
        #expect(try bench.store.census().byState == [.deadLettered: 36])
        #expect(bench.engine.unsettledCount == 0)
    }

    @Test("The stream tells of each notification, and of the application when all is done")
    func events() throws {
        var bench = try Self.bench()
        var types: [RouterEventType] = []
        try Self.run(.deleteApplication(.gallery), in: &bench) { bench, plan in
            types += EventReader(before: bench.engine).events(of: plan.changes, after: 0, at: bench.now).map(
                \.event.type)
        }
        #expect(types.count { $0 == .notificationDeadLettered } == 17)
        #expect(types.last == .applicationDeleted && types.count == 18)
    }
}
