import PredicateEngine
import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Engine: sessions")
struct SessionTests {
    private static let A = SessionKey.gallery("A")

    private func put(_ bench: inout Workbench, _ draft: SessionDraft, _ key: SessionKey = A) throws -> Reply {
        try bench.run(.putSession(key, draft))
    }

    @Test("PUT replaces the whole session, except its place in the order of creation and its last activation")
    func putSession() throws {
        var bench = try Workbench(.gallery(), [])
        var draft = SessionDraft(device: "d", activationState: .foregroundActive)
        draft.userInfo = ["a": 1]
        let first = try #require(try put(&bench, draft).session)
        #expect(first.creationSequence == 1 && first.lastActivatedAt == bench.now)
        #expect(first.configuration == "Default", "The first configuration of the role.")
        _ = try put(&bench, SessionDraft(), .gallery("B"))
        bench.now = .second(60)
        let second = try #require(try put(&bench, SessionDraft()).session)
        #expect(second.device == nil && second.userInfo == .emptyObject)
        #expect(second.creationSequence == 1 && second.lastActivatedAt == .epoch)
        #expect(bench.session("B")?.creationSequence == 2)
    }

    @Test("PUT keeps a session's omitted secret, as long as the URL stays")
    func sessionSecret() throws {
        var bench = try Workbench(.gallery(), [])
        func secret(_ url: String, _ secret: String?) throws -> String? {
            let endpoint = EndpointDraft(url: url, secret: secret, freshSecret: "fresh")
            return try put(&bench, SessionDraft(endpoint: endpoint)).session?.endpoint?.secret
        }
        #expect(try secret("https://1", nil) == "fresh")
        #expect(try secret("https://1", "mine") == "mine")
        #expect(try secret("https://1", nil) == "mine")
        #expect(try secret("https://2", nil) == "fresh")
    }

    @Test("A session needs a configuration of its role, and an endpoint from somewhere")
    func refusals() throws {
        var bench = try Workbench(.gallery(configurations: [.unreachable]), [])
        #expect(try put(&bench, SessionDraft(configuration: "Nope")).refusal == .unknownConfiguration("Nope"))
        #expect(
            try put(&bench, SessionDraft(role: "windowExternalDisplay", configuration: "Unreachable")).refusal
                == .unknownConfiguration("Unreachable"))
        #expect(try put(&bench, SessionDraft()).refusal == .endpointMissing)
        #expect(try bench.patch(Self.A) { _ in }.refusal == .unknownSession(Self.A))
        #expect(try bench.run(.deleteSession(Self.A)).refusal == .unknownSession(Self.A))
        #expect(try bench.store.recover().sessions.isEmpty)
    }

    @Test("PUT and PATCH enforce the same size limits of a session")
    func putUserInfo() throws {
        var bench = try Workbench(.gallery(), [])
        let big = JSONValue.string(String(repeating: "x", count: RouterLimits.userInfoBytes))
        let draft = SessionDraft(userInfo: .object(JSONObject(key: "k", big)))
        #expect(try put(&bench, draft).refusal == .tooMuchUserInfo(limit: RouterLimits.userInfoBytes))
        #expect(bench.session("A") == nil)
    }

    // MARK: Repetition

    @Test("Becoming active is recorded; staying active is not becoming")
    func activation() throws {
        var bench = try Workbench(.gallery(), [Scene("A", .background)])
        #expect(bench.session("A")?.lastActivatedAt == nil)
        bench.now = .second(1)
        _ = try bench.patch(Self.A) { $0.activationState = .foregroundActive }
        bench.now = .second(2)
        _ = try bench.patch(Self.A) { $0.activationState = .foregroundActive }
        #expect(bench.session("A")?.lastActivatedAt == .second(1))
        _ = try bench.patch(Self.A) { $0.activationState = .background }
        bench.now = .second(3)
        #expect(
            try put(&bench, SessionDraft(activationState: .foregroundActive)).session?.lastActivatedAt == .second(3))
    }

    // MARK: PATCH

    @Test("PATCH leaves omitted members alone")
    func patchNothing() throws {
        var bench = try Workbench(.gallery(), [Scene("A", prefers: "SELF == 'x'", .foregroundActive, device: "d")])
        let before = bench.session("A")
        _ = try bench.patch(Self.A) { _ in }
        #expect(bench.session("A") == before)
    }

    @Test("PATCH sets and removes members")
    func patchFields() throws {
        var bench = try Workbench(.gallery(), [Scene("A", can: "SELF == 'x'", level: 3, device: "d")])
        _ = try bench.patch(Self.A) {
            $0.device = .set("e")
            $0.canActivate = .set(.format("SELF == 'y'"))
            $0.prefersToActivate = .set(.format("SELF == 'z'"))
            $0.preferenceLevel = .set(7)
            $0.leaseSeconds = .set(60)
        }
        let set = try #require(bench.session("A"))
        #expect(set.device == "e" && set.conditions.preferenceLevel == 7 && set.leaseExpiresAt == .second(60))
        #expect(set.conditions.canActivate == .format("SELF == 'y'"))
        #expect(set.conditions.prefersToActivate == .format("SELF == 'z'"))
        _ = try bench.patch(Self.A) {
            $0.device = .remove
            $0.canActivate = .remove
            $0.prefersToActivate = .remove
            $0.preferenceLevel = .remove
            $0.leaseSeconds = .remove
            $0.endpoint = .remove
        }
        let removed = try #require(bench.session("A"))
        #expect(removed.device == nil && removed.leaseExpiresAt == nil && removed.endpoint == nil)
        #expect(removed.conditions == ActivationConditions())
    }

    @Test("PATCH cannot remove the only endpoint")
    func patchEndpoint() throws {
        var bench = try Workbench(.gallery(configurations: [.unreachable]), [])
        _ = try put(&bench, SessionDraft(endpoint: EndpointDraft(url: "https://1", secret: nil, freshSecret: "s")))
        #expect(try bench.patch(Self.A) { $0.endpoint = .remove }.refusal == .endpointMissing)
        #expect(bench.session("A")?.endpoint?.url == "https://1")
    }

    @Test("A session keeps a configuration that the manifest has lost; only naming it again is refused")
    func patchAfterLostConfiguration() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        _ = try bench.patch(Self.A) { $0.leaseSeconds = .set(60) }
        try bench.run(.putApplication(.of(.gallery(configurations: [.unreachable]))))
        bench.now = .second(50)
        #expect(try bench.patch(Self.A) { _ in }.session?.leaseExpiresAt == .second(110))
        #expect(try bench.patch(Self.A) { $0.activationState = .foregroundActive }.session?.configuration == "Default")
        let lost = Refusal.unknownConfiguration("Default")
        #expect(try bench.patch(Self.A) { $0.configuration = "Default" }.refusal == lost)
        #expect(try bench.patch(Self.A) { $0.role = SceneRole.windowApplication }.refusal == lost)
        #expect(try bench.patch(Self.A) { $0.endpoint = .remove }.refusal == .endpointMissing)
        #expect(try bench.patch(Self.A) { $0.configuration = "Unreachable" }.session?.configuration == "Unreachable")
    }

    @Test("PATCH merges an endpoint: omitted members stay, and a removed secret is generated anew")
    func patchEndpointParts() throws {
        var bench = try Workbench(.gallery(), [])
        func patched(_ url: String?, _ secret: SessionPatch.Change<String>?) throws -> Endpoint? {
            let endpoint = EndpointPatch(url: url, secret: secret, freshSecret: "fresh")
            return try bench.patch(Self.A) { $0.endpoint = .set(endpoint) }.session?.endpoint
        }
        _ = try put(&bench, SessionDraft(endpoint: EndpointDraft(url: "https://1", secret: "mine", freshSecret: "s")))
        #expect(try patched("https://2", nil) == Endpoint(url: "https://2", secret: "mine"))
        #expect(try patched(nil, .set("new")) == Endpoint(url: "https://2", secret: "new"))
        #expect(try patched(nil, .remove) == Endpoint(url: "https://2", secret: "fresh"))
        _ = try bench.patch(Self.A) { $0.endpoint = .remove }
        #expect(
            try bench.patch(Self.A) { $0.endpoint = .set(EndpointPatch(url: nil, secret: .set("x"), freshSecret: "s")) }
                .refusal
                == .endpointURLMissing)
        #expect(try patched("https://3", nil) == Endpoint(url: "https://3", secret: "fresh"))
    }

    @Test("PATCH merges dictionaries and limits the result")
    func patchUserInfo() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        _ = try bench.patch(Self.A) { $0.userInfo = ["a": 1, "b": ["c": 2, "d": 3]] }
        _ = try bench.patch(Self.A) { $0.userInfo = ["a": nil, "b": ["c": nil, "e": 4]] }
        #expect(bench.session("A")?.userInfo.value == ["b": ["d": 3, "e": 4]])
        _ = try bench.patch(Self.A) { $0.stateRestorationActivity = ["activityType": "edit"] }
        #expect(bench.session("A")?.stateRestorationActivity?.value == ["activityType": "edit"])
        _ = try bench.patch(Self.A) { $0.stateRestorationActivity = .null }
        #expect(bench.session("A")?.stateRestorationActivity == nil)
        let big = JSONValue.string(String(repeating: "x", count: RouterLimits.userInfoBytes))
        let refusal = Refusal.tooMuchUserInfo(limit: RouterLimits.userInfoBytes)
        #expect(try bench.patch(Self.A) { $0.userInfo = .object(JSONObject(key: "k", big)) }.refusal == refusal)
        #expect(
            try bench.patch(Self.A) { $0.stateRestorationActivity = .object(JSONObject(key: "k", big)) }.refusal
                == refusal)
        #expect(bench.session("A")?.userInfo.value == ["b": ["d": 3, "e": 4]])
    }

    @Test("PATCH leaves a disabled session disabled, unless it sets a new endpoint")
    func patchDisabled() throws {
        var bench = try Workbench(.gallery(), [Scene("A"), Scene("B")])
        try bench.accept()
        try bench.finish(try #require(try bench.start().first), .status(410))
        #expect(bench.session("A")?.disabled?.reason == .gone)
        _ = try bench.patch(Self.A) { $0.activationState = .foregroundActive }
        #expect(bench.session("A")?.disabled?.reason == .gone)
        #expect(try bench.accept().accepted?.decision.session == "B")
        _ = try bench.patch(Self.A) {
            $0.endpoint = .set(EndpointPatch(url: "https://new", secret: nil, freshSecret: "s"))
        }
        #expect(bench.session("A")?.disabled == nil)
        #expect(try bench.accept().accepted?.decision.session == "A")
    }
}

extension JSONObject {
    fileprivate init(key: String, _ value: JSONValue) {
        self.init()
        self[key] = value
    }
}
