import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Engine: rotating secrets")
struct SecretRotationTests {
    private static let A = SessionKey.gallery("A")
    private static let request = RepeatableRequest(
        key: DedupeKey(application: .gallery, source: .push, key: "k"), fingerprint: [1])

    private func rotation(_ fresh: String, overlap: Int = 60) -> SecretRotation {
        SecretRotation(overlapSeconds: overlap, freshSecrets: [.v1: fresh, .v1a: "whsk_\(fresh)"])
    }

    private func endpoint(_ reply: Reply) -> Endpoint? {
        if case .endpoint(let endpoint) = reply { endpoint } else { nil }
    }

    @Test(
        "An attempt is signed with the keys of its moment: under way, retried, after the overlap, after a crash")
    func attempts() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        let old = try #require(bench.session("A")?.endpoint?.secret)
        try bench.accept()
        let first = try #require(try bench.start().first)
        #expect(first.keys.map(\.secret) == [old])

        bench.now = .second(10)
        let rotated = endpoint(try bench.run(.rotateSecret(.session(Self.A), rotation("new"))))
        #expect(rotated?.keys.all.map(\.secret) == [old, "new"])
        #expect(rotated?.keys.all.map(\.notAfter) == [.second(70), nil])
        // The attempt under way is unchanged; its retry is signed with both.
        try bench.finish(first, .status(500))
        try bench.crash()
        try bench.advance(to: .second(69))
        let second = try #require(try bench.start().first)
        #expect(second.number == 2 && second.keys.map(\.secret) == [old, "new"])
        try bench.finish(second, .status(500))
        try bench.advance(to: .second(10_000))
        let third = try #require(try bench.start().first)
        #expect(third.keys.map(\.secret) == ["new"])
        try bench.finish(third, .status(204))

        // The next change of the session removes the keys that have ended.
        #expect(bench.session("A")?.endpoint?.keys.all.count == 2)
        _ = try bench.patch(Self.A) { $0.userInfo = ["a": 1] }
        #expect(bench.session("A")?.endpoint?.secret == "new")
    }

    @Test("The endpoints of an application are found by their place, and a missing one is refused")
    func places() throws {
        var application = Application.gallery()
        application.delegate = Endpoint(url: "https://delegate.example", secret: "whsec_delegate")
        var bench = try Workbench(application, [Scene("A")])
        _ = try bench.run(.putSession(.gallery("B"), SessionDraft()))
        let gallery = ApplicationID.gallery

        let delegate = endpoint(try bench.run(.rotateSecret(.delegate(gallery), rotation("d", overlap: 0))))
        #expect(delegate == Endpoint(url: "https://delegate.example", secret: "d"))
        let place = EndpointPlace.configuration(gallery, "Default")
        #expect(endpoint(try bench.run(.rotateSecret(place, rotation("c", overlap: 0))))?.secret == "c")
        try bench.crash()
        let found = try #require(bench.engine.tenants[gallery]?.application)
        #expect(found.delegate == delegate)
        #expect(found.manifest.configuration(named: "Default")?.endpoint?.secret == "c")

        func refusal(_ place: EndpointPlace) throws -> Refusal? {
            try bench.run(.rotateSecret(place, rotation("x"))).refusal
        }
        #expect(try refusal(.session(.gallery("B"))) == .endpointNotHere, "it is reached at its configuration's")
        #expect(try refusal(.session(.gallery("C"))) == .unknownSession(.gallery("C")))
        #expect(try refusal(.configuration(gallery, "Nothing")) == .endpointNotHere)
        #expect(try refusal(.delegate("nobody")) == .unknownApplication("nobody"))
    }

    @Test("A repeated request rotates nothing again, after a crash too; another one under its key is refused")
    func repetition() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        let first = Command.rotateSecret(.session(Self.A), rotation("one"), once: Self.request)
        #expect(endpoint(try bench.run(first))?.keys.all.count == 2)
        for _ in 0..<2 {
            let plan = try bench.plan(.rotateSecret(.session(Self.A), rotation("two"), once: Self.request))
            #expect(plan.changes.isEmpty && endpoint(plan.reply) == bench.session("A")?.endpoint)
            #expect(endpoint(plan.reply)?.keys.contains("two") == false)
            let other = RepeatableRequest(key: Self.request.key, fingerprint: [2])
            let conflict = try bench.run(.rotateSecret(.session(Self.A), rotation("three"), once: other))
            #expect(conflict.refusal == .idempotencyConflict)
            try bench.crash()
        }
    }

    @Test("Two rotations in one transaction apply one after the other")
    func conflicts() throws {
        let bench = try Workbench(.gallery(), [Scene("A")])
        var batch = Batch()
        batch.append(try bench.plan(.rotateSecret(.session(Self.A), rotation("one"))))
        #expect(batch.conflicts(with: try bench.plan(.rotateSecret(.session(Self.A), rotation("two")))))
        #expect(!batch.conflicts(with: try bench.plan(.rotateSecret(.delegate(.gallery), rotation("two")))))
        var keyed = Batch()
        keyed.append(try bench.plan(.rotateSecret(.session(Self.A), rotation("one"), once: Self.request)))
        let place = EndpointPlace.configuration(.gallery, "Default")
        #expect(keyed.conflicts(with: try bench.plan(.rotateSecret(place, rotation("x"), once: Self.request))))
        var application = Batch()
        application.append(try bench.plan(.rotateSecret(place, rotation("one"))))
        #expect(application.conflicts(with: try bench.plan(.rotateSecret(place, rotation("two")))))
    }

    @Test("With too many keys a rotation is refused, and one without an overlap still works")
    func limit() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        for round in 1..<RouterLimits.signingKeys {
            _ = try bench.run(.rotateSecret(.session(Self.A), rotation("\(round)")))
        }
        let before = bench.session("A")
        let refused = try bench.run(.rotateSecret(.session(Self.A), rotation("one too many")))
        #expect(refused.refusal == .signingKeys(.tooMany(limit: RouterLimits.signingKeys)))
        #expect(bench.session("A") == before)
        let last = endpoint(try bench.run(.rotateSecret(.session(Self.A), rotation("last", overlap: 0))))
        #expect(last?.secret == "last")
    }
}
