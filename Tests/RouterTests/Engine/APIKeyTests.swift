import RouterPlugin
import RouterTesting
import Testing

@testable import Router

@Suite("Engine: keys of the API") struct APIKeyTests {
    private static func draft(
        _ name: String, for application: ApplicationID? = nil, scopes: Set<APIScope> = [.read], digest: [UInt8]? = nil,
        fresh: UInt8 = 1
    ) -> APIKeyDraft {
        APIKeyDraft(
            id: APIKeyID(unchecked: name), scopes: scopes, application: application, requestsPerSecond: nil,
            digest: digest, freshDigest: [fresh])
    }

    @Test("A replacement keeps the digest and the time, and a repetition changes nothing")
    func replacement() throws {
        var bench = Workbench()
        #expect(try bench.run(.putKey(Self.draft("ci"), by: nil)).isNewKey == true)
        bench.now = bench.now.advanced(byMilliseconds: 1)
        let change = Command.putKey(Self.draft("ci", for: .gallery, scopes: [.ingest], fresh: 2), by: nil)
        #expect(try bench.run(change).isNewKey == false)
        let key = try #require(bench.engine.keys.first)
        #expect(key.digest == [1] && key.createdAt == .epoch && key.scopes == [.ingest] && key.application == .gallery)
        #expect(try bench.plan(change).changes.isEmpty)
        try bench.run(.putKey(Self.draft("ci", digest: [3]), by: nil))
        #expect(bench.engine.keys.map(\.digest) == [[3]])
        #expect(
            Engine(recovering: try bench.store.recover(), generator: SeededGenerator(seed: 1)).keys == bench.engine.keys
        )
    }

    @Test("An application's manager changes no other application's keys, and finds none of them")
    func managers() throws {
        var bench = Workbench()
        let drafts: [(String, ApplicationID?, UInt8)] = [("theirs", "a", 1), ("all", nil, 2), ("mine", "b", 3)]
        for (name, application, digest) in drafts {
            try bench.run(.putKey(Self.draft(name, for: application, fresh: digest), by: nil))
        }
        let before = bench.engine.keys
        for name in ["theirs", "all"] {
            let id = APIKeyID(unchecked: name)
            #expect(try bench.run(.putKey(Self.draft(name, for: "b"), by: "b")).refusal == .key(.taken(id)))
            #expect(try bench.run(.deleteKey(id, by: "b")).refusal == .key(.unknown(id)))
        }
        #expect(bench.engine.keys == before)
        #expect(try bench.run(.deleteKey("mine", by: "b")).refusal == nil)
        #expect(try bench.run(.deleteKey("mine", by: nil)).refusal == .key(.unknown("mine")))
        #expect(bench.engine.keys.map(\.name) == ["all", "theirs"])
    }

    @Test("Two keys have two digests, and the keys of an application have a limit")
    func limits() throws {
        var bench = Workbench()
        for number in 0..<RouterLimits.keysPerApplication {
            try bench.run(.putKey(Self.draft("k\(number)", for: "a", fresh: UInt8(number)), by: nil))
        }
        #expect(try bench.run(.putKey(Self.draft("x", digest: [7]), by: nil)).refusal == .key(.digestTaken))
        let limit = Refusal.key(.tooMany(limit: RouterLimits.keysPerApplication))
        #expect(try bench.run(.putKey(Self.draft("x", for: "a", fresh: 200), by: nil)).refusal == limit)
        #expect(try bench.run(.putKey(Self.draft("k1", for: "a", scopes: [.admin]), by: nil)).refusal == nil)
        #expect(try bench.run(.putKey(Self.draft("x", fresh: 200), by: nil)).refusal == nil)
        #expect(try bench.run(.putKey(Self.draft("x", for: "a"), by: nil)).refusal == limit)
    }

    @Test("Two changes of keys do not share a transaction")
    func conflict() throws {
        let bench = Workbench()
        var batch = Batch()
        batch.append(try bench.plan(.putKey(Self.draft("a", digest: [1]), by: nil)))
        #expect(batch.conflicts(with: try bench.plan(.putKey(Self.draft("b", digest: [1]), by: nil))))
    }
}

extension Reply {
    fileprivate var isNewKey: Bool? { if case .key(_, let created) = self { created } else { nil } }
}
