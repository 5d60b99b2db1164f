import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Engine: repeated requests")
struct RepetitionTests {
    private static let A = SessionKey.gallery("A")

    private func key(_ text: String, _ application: ApplicationID = .gallery) -> DedupeKey {
        DedupeKey(application: application, source: .push, key: text)
    }

    private func draft(_ state: ActivationState) -> SessionDraft {
        SessionDraft(
            activationState: state, endpoint: EndpointDraft(url: "https://1", secret: nil, freshSecret: "s"))
    }

    @Test("A line is done once; the first answer is given again, after a crash too")
    func line() throws {
        var bench = try Workbench(.gallery(), [])
        let put = Command.putSession(Self.A, draft(.foregroundActive), once: key("k"))
        #expect(try bench.run(put).session?.activationState == .foregroundActive)
        _ = try bench.run(.putSession(Self.A, draft(.background)))
        for _ in 0..<2 {
            let plan = try bench.plan(put)
            guard case .sessionKept(created: true) = plan.reply else {
                Issue.record("answered \(plan.reply)")
                return
            }
            #expect(plan.changes.isEmpty)
            #expect(bench.session("A")?.activationState == .background)
            try bench.crash()
        }
        #expect(try bench.run(.putSession(Self.A, draft(.background), once: key("l"))).session != nil)
    }

    @Test("A refused line is not remembered, and may be sent again")
    func refusedLine() throws {
        var bench = try Workbench(.gallery(configurations: [.unreachable]), [])
        let refused = try bench.run(.putSession(Self.A, SessionDraft(), once: key("k")))
        #expect(refused.refusal == .endpointMissing)
        #expect(try bench.run(.putSession(Self.A, draft(.background), once: key("k"))).session != nil)
        #expect(try bench.store.keptAnswer(for: key("k")) == .session(created: true))
    }

    @Test("A key stands for one batch, after a crash too")
    func batch() throws {
        var bench = try Workbench(.gallery(), [])
        for _ in 0..<2 {
            guard case .batchBegun = try bench.run(.beginBatch(key("b"), fingerprint: [1])) else {
                Issue.record("refused")
                return
            }
            #expect(try bench.run(.beginBatch(key("b"), fingerprint: [2])).refusal == .idempotencyConflict)
            try bench.crash()
        }
        #expect(try bench.plan(.beginBatch(key("b"), fingerprint: [1])).changes.isEmpty)
        let nobody = ApplicationID(unchecked: "nobody")
        #expect(
            try bench.run(.beginBatch(key("b", nobody), fingerprint: [1])).refusal == .unknownApplication(nobody))
    }

    private func request(_ name: String, releasing keys: [String] = []) -> AcceptRequest {
        var request = AcceptRequest.of(keys: [name], payload: "{\"n\":\"\(name)\"}")
        request.isRepeatedByKey = true
        request.release(keys)
        return request
    }

    private func expectRepetition(_ notice: AcceptRequest, of sequence: NotificationSequence, _ bench: Workbench) throws
    {
        let plan = try bench.plan(.accept(notice))
        guard case .duplicate(let receipt) = plan.reply else {
            Issue.record("answered \(plan.reply)")
            return
        }
        #expect(receipt.sequence == sequence && plan.changes.isEmpty)
    }

    @Test("A released key is new once more, and a repetition until then, after a crash too")
    func released() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        let firing = request("firing", releasing: ["resolved"])
        let resolved = request("resolved", releasing: ["firing"])
        var sequences: [NotificationSequence] = []
        for notice in [firing, resolved, firing, resolved] {
            let accepted = try #require(try bench.run(.accept(notice)).accepted)
            #expect(!sequences.contains(accepted.sequence))
            sequences.append(accepted.sequence)
            try expectRepetition(notice, of: accepted.sequence, bench)
        }
        try bench.crash()
        try expectRepetition(resolved, of: sequences[3], bench)
        guard case .accepted = try bench.plan(.accept(firing)).reply else {
            Issue.record("a released key is taken after a crash")
            return
        }
    }

    @Test("Notifications of one request release keys in their order")
    func releasedTogether() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        let all = [request("firing"), request("resolved", releasing: ["firing"])]
        guard case .acceptedAll(let replies) = try bench.run(.acceptAll(all)) else {
            Issue.record("not accepted")
            return
        }
        #expect(replies.allSatisfy { $0.accepted != nil })
        #expect(try bench.run(.accept(request("firing"))).accepted != nil)
    }

    @Test("A deleted and recreated application knows nothing of requests to the old one")
    func newApplication() throws {
        var bench = try Workbench(.gallery(), [])
        _ = try bench.run(.beginBatch(key("b"), fingerprint: [1]))
        let put = Command.putSession(Self.A, draft(.background), once: key("k"))
        #expect(try bench.run(put).session != nil)
        _ = try bench.run(.deleteApplication(.gallery))
        _ = try bench.run(.putApplication(.of(.gallery())))
        guard case .batchBegun = try bench.run(.beginBatch(key("b"), fingerprint: [2])) else {
            Issue.record("refused")
            return
        }
        #expect(try bench.run(put).session != nil)
        #expect(bench.session("A") != nil)
    }

    @Test("A notification that is repeated under another key is known by both")
    func moreKeys() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        let first = try #require(try bench.accept(keys: ["k1"], payload: "1").accepted)
        for keys in [["k2", "k1"], ["k1", "k3"], ["k2"], ["k3", "k2"]] {
            #expect(try bench.accept(keys: keys, payload: "1").duplicate?.id == first.id, "\(keys)")
            try bench.crash()
        }
        #expect(try bench.accept(keys: ["k2"], payload: "2").refusal == .idempotencyConflict)
    }

    @Test("Two keys of two different notifications are a conflict, and neither learns a key")
    func keysOfTwo() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        #expect(try bench.accept(keys: ["a"], payload: "1").accepted != nil)
        #expect(try bench.accept(keys: ["b"], payload: "1").accepted != nil)
        #expect(try bench.accept(keys: ["c", "a", "b"], payload: "1").refusal == .idempotencyConflict)
        #expect(try bench.accept(keys: ["c"], payload: "1").accepted != nil)
    }
}
