import RouterPlugin
import RouterTesting
import Testing

@testable import Router

/// Decisions that take more steps than a round gives them. Steps are counted, so that every round is the same everywhere.
@Suite("Lines of long decisions")
struct DecisionLineTests {
    /// Sessions that a decision has to ask one by one, and none of which can have a content before "z".
    private static func hostile(_ count: Int = 400) -> [Scene] {
        (0..<count).map { Scene(SessionID(unchecked: "s\($0)"), can: "SELF > 'z\($0)'") }
    }

    private static func limits(_ change: (inout EngineLoop.Steps) -> Void = { _ in }) -> EngineLoop.Limits {
        var limits = EngineLoop.Limits(retryMilliseconds: 500)
        limits.steps.first = 10_000
        limits.steps.least = 4000
        limits.steps.turn = 20_000
        limits.steps.round = 40_000
        change(&limits.steps)
        return limits
    }

    /// A bench with hostile sessions, and another application with an ordinary one.
    private static func bench(_ scenes: [Scene] = hostile(), limits: EngineLoop.Limits = limits()) -> LoopBench {
        var bench = LoopBench(.gallery(multipleScenes: true), scenes)
        bench.offer(.putApplication(.of(.gallery(.other))))
        bench.run()
        bench.offer(.putSession(SessionKey(application: .other, session: "B"), .of(Scene("B"))))
        bench.run()
        bench.loop.limits = limits
        bench.startCounting()
        return bench
    }

    private static func accept(_ content: ContentID, to application: ApplicationID = .gallery) -> Command {
        .accept(.of(content, to: application))
    }

    @Test("A decision that takes many rounds ends as in one")
    func sameDecision() throws {
        for content in ["x", "z7", "z399", "zz"] as [ContentID] {
            var (slow, quick) = (Self.bench(), Self.bench(limits: EngineLoop.Limits(retryMilliseconds: 500)))
            slow.offer(Self.accept(content))
            quick.offer(Self.accept(content))
            quick.round()
            slow.run()
            quick.run()
            let decision = try #require(slow.answers[0]?.accepted?.decision)
            #expect(decision == quick.answers[0]?.accepted?.decision)
            #expect(slow.transactions == [1])
        }
    }

    @Test("Commands of other applications do not wait, commands of the same wait in their order")
    func order() throws {
        var bench = Self.bench()
        for content in ["x", "y"] as [ContentID] { bench.offer(Self.accept(content)) }
        bench.offer(.deleteSession(.gallery("s399")))
        bench.offer(Self.accept("zz"))
        bench.offer(Self.accept("b", to: .other))
        bench.round()
        #expect(bench.answers.keys.sorted() == [4])
        #expect(bench.transactions == [1] && !bench.loop.isResting)
        var order: [Int] = []
        while !bench.loop.isResting {
            bench.round()
            order += bench.answers.keys.filter { $0 != 4 && !order.contains($0) }.sorted()
        }
        #expect(order == [0, 1, 2, 3])
        // The session was deleted before the last command was decided.
        let sequences = [4, 0, 1, 3].compactMap { bench.answers[$0]?.accepted?.sequence }
        #expect(sequences == sequences.sorted() && sequences.count == 4)
    }

    @Test("A round takes its steps and those of one evaluation more")
    func bounded() {
        var bench = Self.bench()
        for _ in 0..<20 { bench.offer(Self.accept("x")) }
        var rounds = 0
        while bench.answers.count < 20 {
            bench.round()
            rounds += 1
        }
        // Each decision asks 400 sessions, of which the first try and each turn repeat none; a turn removes each from a heap.
        let steps = 20 * 400 * (512 + 256)
        #expect((steps / 45_000...steps / 35_000 + 20).contains(rounds), "\(rounds) rounds")
        #expect(bench.transactions.count == 20)
    }

    @Test("Decisions that each take few steps share the steps of their application in a round")
    func batch() {
        // Forty sessions take 20,480 steps: two decisions fill the first part, the rest waits.
        var bench = Self.bench(
            Self.hostile(40),
            limits: Self.limits {
                ($0.first, $0.turn, $0.round) = (45_000, 45_000, 90_000)
            })
        for _ in 0..<50 { bench.offer(Self.accept("x")) }
        bench.offer(Self.accept("b", to: .other))
        bench.round()
        #expect(bench.answers[50]?.accepted != nil)
        #expect((3...8).contains(bench.answers.count), "\(bench.answers.count) answers")
        bench.run()
        #expect(bench.answers.count == 51)
        let sequences = (0..<50).compactMap { bench.answers[$0]?.accepted?.sequence }
        #expect(sequences == sequences.sorted() && sequences.count == 50)
    }

    @Test("Lines have turns: neither of two applications waits for all of the other's decisions")
    func turns() {
        var bench = Self.bench()
        for scene in Self.hostile(100) {
            bench.offer(.putSession(SessionKey(application: .other, session: scene.id), .of(scene)))
        }
        bench.offer(.deleteSession(SessionKey(application: .other, session: "B")))
        bench.run()
        bench.startCounting()
        for _ in 0..<10 { bench.offer(Self.accept("x")) }
        bench.offer(Self.accept("b", to: .other))
        while bench.answers[10] == nil { bench.round() }
        #expect(bench.answers.count <= 2, "\(bench.answers.keys.sorted())")
        bench.run()
        #expect(bench.answers.count == 11)
    }

    @Test("A line takes a bounded number of commands, and refuses more at once")
    func fullLine() {
        var bench = Self.bench(limits: Self.limits { $0.waiting = 3 })
        for _ in 0..<5 { bench.offer(Self.accept("x")) }
        bench.round()
        guard case .refused(.overloaded)? = bench.answers[4], case .refused(.overloaded)? = bench.answers[3] else {
            Issue.record("\(bench.answers)")
            return
        }
        bench.run()
        #expect((0..<3).allSatisfy { bench.answers[$0]?.accepted != nil })
    }

    @Test("Sessions that come and go meanwhile take part in the decision as they are at its end")
    func changes() throws {
        var bench = Self.bench()
        bench.offer(Self.accept("x"))
        bench.round()
        #expect(bench.answers.isEmpty)
        // Own work is not behind the line: a lease that lapses takes its session away, and its predicate's number is free.
        for number in 0..<5 {
            var draft = SessionDraft.of(Scene(SessionID(unchecked: "t\(number)"), can: "SELF == 'x'"))
            draft.device = nil
            bench.loop.offer(.putSession(.gallery(SessionID(unchecked: "t\(number)")), draft), ticket: nil)
            bench.loop.offer(.deleteSession(.gallery(SessionID(unchecked: "s\(number * 50)"))), ticket: nil)
            bench.round()
        }
        bench.run()
        let session = try #require(bench.answers[0]?.accepted?.decision.session)
        let tenant = try #require(bench.loop.engine.tenants[.gallery])
        let expected = Chooser().choose(for: .about("x"), from: tenant, at: bench.now).decision
        #expect(session == expected.session)
    }

    @Test("A stop answers the clients in lines, and drops own work there")
    func draining() {
        var bench = Self.bench()
        bench.offer(Self.accept("x"))
        bench.offer(Self.accept("y"))
        bench.round()
        bench.loop.drain()
        bench.run()
        #expect(bench.answers.count == 2)
    }

    @Test("A follow-up that waits in a line is not added again, and is when it has been done")
    func followUps() {
        var lines = DecisionLines()
        let job = EngineLoop.Job(command: .followUp(.drain(.gallery("s0"))), ticket: nil)
        let other = EngineLoop.Job(command: .followUp(.drain(.gallery("s1"))), ticket: nil)
        lines.beginRound()
        var areTaken = [job, job, other, job].map { lines.append($0, to: .gallery) }
        let first = lines.take()
        if let first { lines.end(first, puttingBack: true) }
        areTaken.append(lines.append(job, to: .gallery))
        #expect(areTaken == [true, true, true, true, true])
        var followUps: [FollowUp?] = []
        while let turn = lines.take() {
            followUps.append(turn.job.followUp)
            lines.end(turn, puttingBack: false)
        }
        #expect(followUps == [.drain(.gallery("s0")), .drain(.gallery("s1"))])
        #expect(lines.isEmpty)
        areTaken.append(lines.append(job, to: .gallery))
        #expect(areTaken.last == true && !lines.isEmpty)
    }

    @Test("Candidates count for the application's share and do not end a walk")
    func candidates() {
        let scenes = (0..<60).map { Scene(SessionID(unchecked: "s\($0)")) }
        let rule = TriedSessions(sessions: Set(scenes.map(\.id)))
        var work = DecisionWork(limit: 4096)
        let found = Chooser(rules: [rule]).choose(
            for: .about("x"), from: Tenant(.gallery(), scenes), &work, at: .epoch)
        #expect(found.decision.vetoes.count == 60 && !work.isUnfinished)
        #expect(work.stepsWithCandidates >= 60 * 512 && work.steps < 4096)
    }

    @Test("A conflict of the store lets a job from a line have another turn")
    func conflict() {
        // No session is made, which the next decisions would have to see.
        let scenes = Self.hostile(40).map { Scene($0.id, can: $0.can, .foregroundInactive) }
        var bench = Self.bench(
            scenes + [Scene("last", can: "SELF == 'x'")],
            limits: Self.limits { ($0.first, $0.turn, $0.round) = (10_000, 45_000, 500_000) })
        // The fourth comes when three share a transaction, and has to wait for it.
        for number in 0..<6 { bench.offer(.accept(.of("x", keys: ["k\(number % 3)"]))) }
        bench.fates = [StoreError(.conflict, "test")]
        bench.run()
        #expect(bench.transactions.first == 3)
        #expect((0..<3).allSatisfy { bench.answers[$0]?.accepted != nil })
        #expect((3..<6).allSatisfy { bench.answers[$0]?.duplicate != nil })
    }

    @Test("An explanation in turns is the one without them", arguments: [1, 3000, 20_000])
    func explanation(steps: Int) throws {
        let tenant = Tenant(.gallery(multipleScenes: true), Self.hostile(60) + [Scene("last", can: "SELF == 'z59'")])
        for content in ["x", "z30", "z59", "zz"] as [ContentID] {
            let wanted = Chooser().explain(.about(content), from: tenant, at: .epoch, limit: 100)
            var (work, tries) = (DecisionWork(limit: steps), 1)
            var told = Chooser().explain(.about(content), from: tenant, &work, at: .epoch, limit: 100)
            while work.isUnfinished, tries < 1000 {
                work.resume(steps)
                told = Chooser().explain(.about(content), from: tenant, &work, at: .epoch, limit: 100)
                tries += 1
            }
            #expect(told == wanted)
            #expect(tries > 1 && tries < 300, "\(tries) tries")
        }
    }

    @Test("A rule, a device and preferences that require more take turns, too", arguments: [1, 5000])
    func otherQueries(steps: Int) {
        var scenes = Self.hostile(60)
        for place in scenes.indices {
            scenes[place].device = "d"
            scenes[place].prefers = "SELF > 'y\(place)'"
        }
        let tenant = Tenant(.gallery(multipleScenes: true, strict: true), scenes)
        for content in ["x", "y5", "z30", "zz"] as [ContentID] {
            for device in [nil, "d"] as [DeviceID?] {
                for rules in [[], [TriedSessions(sessions: ["s3", "s9"])]] as [[any RoutingRule]] {
                    let (chooser, view) = (Chooser(rules: rules), NotificationView.about(content, device: device))
                    let wanted = chooser.choose(for: view, from: tenant, at: .epoch)
                    var (work, tries) = (DecisionWork(limit: steps), 1)
                    var found = chooser.choose(for: view, from: tenant, &work, at: .epoch)
                    while work.isUnfinished, tries < 1000 {
                        work.resume(steps)
                        found = chooser.choose(for: view, from: tenant, &work, at: .epoch)
                        tries += 1
                    }
                    #expect(found == wanted)
                }
            }
        }
    }
}
