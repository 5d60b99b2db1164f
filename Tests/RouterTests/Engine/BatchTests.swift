import Router
import RouterPlugin
import RouterTesting
import Testing

/// Which plans may share a transaction: plans that do not know of one another must not conflict.
@Suite("Engine: batches")
struct BatchTests {
    struct Pair: CustomTestStringConvertible, Sendable {
        var name: String
        var first: Command
        var second: Command
        var conflicts: Bool

        init(_ name: String, _ first: Command, then second: Command, conflicts: Bool) {
            self.name = name
            self.first = first
            self.second = second
            self.conflicts = conflicts
        }

        var testDescription: String { name }
    }

    private static let A = SessionKey.gallery("A")
    private static let B = SessionKey.gallery("B")
    private static let putA = Command.putSession(A, SessionDraft(activationState: .background))
    private static let putB = Command.putSession(B, SessionDraft())
    private static let putNew = Command.putSession(.gallery("New"), SessionDraft())
    private static let patchA = Command.patchSession(A, SessionPatch(state: .background))
    private static let putApplication = Command.putApplication(.of(.gallery(strict: true)))
    private static let deleteApplication = Command.deleteApplication(.gallery)
    private static let accept = Command.accept(.of("x"))
    /// No session can receive it, so that a session is created.
    private static let acceptNew = Command.accept(.of("new"))
    private static func finished(_ sequence: NotificationSequence, _ status: Int) -> Command {
        .attemptFinished(
            FinishedAttempt(
                sequence: sequence, number: 1, session: "A", url: "https://A.example/", startedAt: .epoch,
                result: .status(status)))
    }

    private static func key(_ text: String) -> DedupeKey {
        DedupeKey(application: .gallery, source: .push, key: text)
    }

    static let pairs: [Pair] = [
        Pair("the same dedupe key", .accept(.of(keys: ["k"])), then: .accept(.of(keys: ["k"])), conflicts: true),
        Pair(
            "one key of two", .accept(.of(keys: ["a", "k"])), then: .accept(.of(keys: ["k", "b"])), conflicts: true),
        Pair("different keys", .accept(.of(keys: ["k"])), then: .accept(.of(keys: ["l"])), conflicts: false),
        Pair(
            "the same key of another tenant", .accept(.of(keys: ["k"])), then: .accept(.of(keys: ["k"], to: .other)),
            conflicts: false),
        Pair("two without keys", accept, then: accept, conflicts: false),
        Pair("a new session twice", acceptNew, then: acceptNew, conflicts: true),
        Pair("an accept that may go to the new session", acceptNew, then: accept, conflicts: true),
        Pair("a new session for one tenant only", acceptNew, then: .accept(.of("new", to: .other)), conflicts: false),
        Pair("a new session after an accept", accept, then: acceptNew, conflicts: false),
        Pair("a new session after one that came", putNew, then: acceptNew, conflicts: true),
        Pair("the same session", putA, then: patchA, conflicts: true),
        Pair("the same session, gone", patchA, then: .deleteSession(A), conflicts: true),
        Pair("the same session, back again", .deleteSession(A), then: putA, conflicts: true),
        Pair("another session", putA, then: putB, conflicts: false),
        Pair(
            "the same name in another tenant", putA,
            then: .putSession(SessionKey(application: .other, session: "A"), SessionDraft()), conflicts: false),
        Pair("a session and its 410", patchA, then: finished(1, 410), conflicts: true),
        Pair("a 410 and its session", finished(1, 410), then: patchA, conflicts: true),
        Pair("two 410s of a session", finished(1, 410), then: finished(2, 410), conflicts: true),
        Pair("two outcomes of a session", finished(1, 200), then: finished(2, 500), conflicts: false),
        Pair("two outcomes of an attempt", finished(1, 200), then: finished(1, 500), conflicts: true),
        Pair("an application after a session of it", putNew, then: putApplication, conflicts: true),
        Pair("a session after its application", putApplication, then: putNew, conflicts: true),
        Pair("an application after a session was made", acceptNew, then: putApplication, conflicts: true),
        Pair("an accept after its application", putApplication, then: accept, conflicts: true),
        Pair("an application after an accept", accept, then: putApplication, conflicts: false),
        Pair(
            "an application put twice", putApplication, then: .putApplication(.of(.gallery(inFlight: 3))),
            conflicts: true),
        Pair(
            "a change under a key, and again", .putSession(A, SessionDraft(), once: key("k")),
            then: .putSession(B, SessionDraft(), once: key("k")), conflicts: true),
        Pair(
            "changes under two keys", .putSession(A, SessionDraft(), once: key("k")),
            then: .putSession(B, SessionDraft(), once: key("l")), conflicts: false),
        Pair("an application deleted and put", deleteApplication, then: putApplication, conflicts: true),
        Pair("an accept for a deleted application", deleteApplication, then: accept, conflicts: true),
        Pair("a session of a deleted application", deleteApplication, then: putA, conflicts: true),
        Pair("a deletion after an accept", accept, then: deleteApplication, conflicts: true),
        Pair("an outcome for a deleted application", deleteApplication, then: finished(1, 410), conflicts: true),
    ]

    /// Two sessions, and three attempts of A under way.
    private func bench() throws -> Workbench {
        let application = Application.gallery(multipleScenes: true, inFlight: 3)
        let scenes = [Scene("A", can: "SELF == 'x'", .foregroundActive), Scene("B", can: "SELF == 'y'")]
        var bench = try Workbench(application, scenes)
        try bench.add(.gallery(.other, multipleScenes: true), [Scene("A", can: "SELF == 'x'")])
        for _ in 0..<3 { try bench.accept() }
        #expect(try bench.start().count == 3)
        return bench
    }

    @Test("Which pairs conflict", arguments: pairs)
    func conflict(pair: Pair) throws {
        var bench = try bench()
        var batch = Batch()
        batch.append(try bench.engine.plan(pair.first, at: bench.now, reading: bench.store))
        let second = try bench.engine.plan(pair.second, at: bench.now, reading: bench.store)
        #expect(batch.conflicts(with: second) == pair.conflicts)
        guard !pair.conflicts else { return }
        // Plans that share a batch have to fit into the store and into memory together.
        batch.append(second)
        try bench.store.commit(batch.changes)
        try bench.follow(bench.engine.apply(batch.changes, at: bench.now))
        let census = try bench.store.census()
        #expect(census.accepted == census.byState.values.reduce(0, +))
    }

    @Test("An empty batch conflicts with nothing", arguments: pairs)
    func empty(pair: Pair) throws {
        let (batch, plan) = (Batch(), try bench().plan(pair.first))
        #expect(batch.isEmpty && !batch.conflicts(with: plan))
    }

    @Test("An accept after the deletion of its session, in one batch, moves on")
    func acceptAfterDelete() throws {
        var bench = try Workbench(.gallery(), [Scene("A", .foregroundActive), Scene("B")])
        var batch = Batch()
        batch.append(try bench.engine.plan(.deleteSession(Self.A), at: bench.now, reading: bench.store))
        let accept = try bench.engine.plan(Self.accept, at: bench.now, reading: bench.store)
        #expect(!batch.conflicts(with: accept), "Neither was answered: either order is a true one.")
        batch.append(accept)
        try bench.store.commit(batch.changes)
        let followUps = bench.engine.apply(batch.changes, at: bench.now)
        #expect(followUps == [.drain(Self.A)])
        try bench.follow(followUps)
        #expect(try bench.start().map(\.receiver) == [Self.B])
    }
}
