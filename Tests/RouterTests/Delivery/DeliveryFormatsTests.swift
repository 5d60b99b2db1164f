import Router
import RouterPlugin
import Testing

/// The choice of a format for an endpoint, and its use in deliveries.
@Suite("Delivery formats")
struct DeliveryFormatsTests {
    private struct Stamp: DeliveryFormat {
        let id: PluginID
        let text: String

        func render(_ message: DeliveryMessage) throws(DeliveryFormatError) -> RenderedRequest {
            RenderedRequest(contentType: "text/plain", body: Array(text.utf8))
        }
    }

    private static let stamp = DeliveryFormatKind(id: "routerd.format.stamp", summary: "stamps") {
        (options) throws(PluginConfigurationError) in
        let configuration = try PluginConfiguration(options, fields: ["text"])
        return Stamp(
            id: "routerd.format.stamp", text: try configuration.required("text", try configuration.string("text")))
    }
    private static let plain = DeliveryFormatKind(id: "com.example.plain", summary: "plain") {
        (options) throws(PluginConfigurationError) in
        _ = try PluginConfiguration(options, fields: [])
        return Stamp(id: "com.example.plain", text: "")
    }
    private static let formats = DeliveryFormats([stamp, plain])

    @Test("A choice is a name, or an object with a name and options; a built-in name may be short")
    func choices() throws {
        let short: [JSONValue] = ["com.example.plain", ["id": "com.example.plain"]]
        for value in short {
            #expect(try Self.formats.choice(reading: value) == DeliveryFormatChoice("com.example.plain"))
        }
        for name in ["stamp", "routerd.format.stamp"] {
            let choice = try Self.formats.choice(reading: ["id": .string(name), "text": "x"])
            #expect(choice.json.members.map(\.key) == ["id", "text"] && choice.json["id"] == "routerd.format.stamp")
            #expect(DeliveryFormatChoice(json: .object(choice.json)) == choice)
            #expect(try Self.formats.format(choice).id == "routerd.format.stamp")
        }
    }

    static let faults: [(JSONValue, String, String)] = [
        ("stam", "unknown-plugin", ""), (["id": "stam"], "unknown-plugin", "/id"), (7, "wrong-type", ""),
        ([], "wrong-type", ""), (["id": 7], "wrong-type", "/id"), ([:], "missing-field", "/id"),
        ("stamp", "missing-field", ""), (["id": "stamp"], "missing-field", "/text"),
        (["id": "stamp", "text": 1], "wrong-type", "/text"), (["id": "stamp", "txt": "a"], "unknown-field", "/txt"),
        (["id": "stamp", "text": .string(String(repeating: "x", count: 32 * 1024))], "invalid-value", ""),
    ]

    @Test("An invalid choice is refused, with its place", arguments: faults)
    func refused(value: JSONValue, code: String, pointer: String) {
        let error = #expect(throws: PluginConfigurationError.self) { try Self.formats.choice(reading: value) }
        #expect(error?.code == code && error?.pointer == pointer)
    }

    @Test("A format that the daemon no longer has, or that now refuses its options, fails with a code")
    func gone() throws {
        let unknown = #expect(throws: DeliveryFormatError.self) { try Self.formats.format(DeliveryFormatChoice("a.b")) }
        #expect(unknown?.code == "unknown-format")
        let invalid = #expect(throws: DeliveryFormatError.self) {
            try Self.formats.format(DeliveryFormatChoice("routerd.format.stamp"))
        }
        #expect(invalid?.code == "invalid-format" && invalid?.message.contains("text") == true)
    }

    // MARK: Endpoints

    private static let raw = DeliveryFormatChoice("routerd.format.raw")

    @Test("A replacement without a format has the standard one; a patch without one keeps the format")
    func endpoints() throws {
        let existing = Endpoint(url: "https://a", keys: SigningKeys("whsec_a"), format: Self.raw)
        let draft = EndpointDraft(url: "https://a", secret: nil, freshSecret: "f")
        #expect(draft.resolved(replacing: existing, at: .epoch).format == .standard)
        #expect(draft.resolved(replacing: existing, at: .epoch).keys == existing.keys)
        for url in ["https://a", "https://b"] {
            for secret in [nil, "whsec_b"] {
                var draft = EndpointDraft(url: url, secret: secret, freshSecret: "f")
                draft.format = Self.raw
                #expect(draft.resolved(replacing: existing, at: .epoch).format == Self.raw)
                #expect(draft.resolved(replacing: nil, at: .epoch).format == Self.raw)
            }
        }
        var patch = EndpointPatch(url: "https://b", keys: nil, freshSecret: "f")
        #expect(patch.applied(to: existing)?.format == Self.raw && patch.applied(to: nil)?.format == .standard)
        patch.format = .remove
        #expect(patch.applied(to: existing)?.format == .standard && patch.applied(to: existing)?.keys == existing.keys)
        patch.format = .set(DeliveryFormatChoice("a.b"))
        #expect(patch.applied(to: existing)?.format == DeliveryFormatChoice("a.b"))
    }

    @Test("An attempt has the format of its endpoint, over a crash, a rotation of its secret, and for the delegate")
    func attempts() throws {
        var application = Application.gallery(
            delegate: Endpoint(url: "https://d.example/", keys: SigningKeys("whsec_ZA=="), format: Self.raw),
            lifeCycleEvents: true)
        application.manifest.sceneConfigurations[0].endpoint?.format = Self.raw
        var bench = try Workbench(application, [Scene("A"), Scene("B")])
        #expect(bench.engine.tenants[.gallery]?.application.delegate?.format == Self.raw)
        #expect(
            bench.engine.tenants[.gallery]?.application.manifest.sceneConfigurations[0].endpoint?.format == Self.raw)
        try bench.patch(.gallery("A")) {
            $0.endpoint = .set(EndpointPatch(url: nil, keys: nil, freshSecret: "f", format: .set(Self.raw)))
        }
        let rotation = SecretRotation(secret: "whsec_bmV3", overlapSeconds: 0, freshSecrets: [:])
        try bench.run(.rotateSecret(.session(.gallery("A")), rotation))
        try bench.crash()
        try bench.accept()
        #expect(try bench.start().map(\.endpoint.format) == [Self.raw])
        try bench.run(.deleteSession(.gallery("B")))
        let told = try bench.deliverAll()
        #expect(told.last?.receiver == .delegate(of: .gallery) && told.last?.endpoint.format == Self.raw)
    }

    // MARK: Failures

    @Test("A delivery that cannot be rendered is given up at once, shown with the error, and can be replayed")
    func failure() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        try bench.accept()
        try bench.accept()
        let failure = TransferFailure(kind: .formatFailed, message: "rendering-not-json: no JSON")
        try bench.finish(try #require(try bench.start().first), TransferResult(outcome: .failure(failure)))
        let stored = try #require(try bench.stored(1))
        #expect(stored.state == .deadLettered && stored.reason == "format-failed")
        #expect(stored.attempts.map(\.failure) == [failure])
        #expect(try bench.start().map(\.notification.sequence) == [2], "The endpoint is as good as before.")
        let again = AcceptRequest(replaying: stored)
        #expect(try bench.run(.accept(again)).accepted?.payload == stored.payload)
    }

    @Test("A payload keeps its media type everywhere")
    func contentType() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        var request = AcceptRequest.of("x", payload: "<a/>")
        request.notification.contentType = "text/xml"
        try bench.run(.accept(request))
        let attempt = try #require(try bench.start().first)
        let message = DeliveryMessage(attempt, try #require(attempt.payload))
        #expect(message.notification?.payloadContentType == "text/xml")
        let stored = try #require(try bench.stored(1))
        #expect(stored.payload == .received(Array("<a/>".utf8), contentType: "text/xml"))
        #expect(AcceptRequest(replaying: stored).notification.contentType == "text/xml")
    }

    // MARK: Facts that are kept

    @Test("Kept facts are read back, and damaged ones are refused")
    func facts() throws {
        let session = SessionView(
            id: "é\"", role: "r", configuration: "", activationState: .background)
        let gate = OnboardingGate(GateKey(application: .gallery, device: "phone"))
        let discarded = DiscardedSession(
            id: "a", role: "", configuration: "c", device: nil, userInfo: JSONDocument(["n": 1]))
        let options = ConnectionOptions(
            activating: ActivationOptions(),
            bringing: SceneContent(kind: .url, contentID: nil, payload: Array("{}".utf8)))
        let all: [(SceneEventKind, EventFacts)] = [
            (.didBecomeActive, .session(session)), (.willConnect, .connection(session, options)),
            (.configurationForConnecting, .connection(session, ConnectionOptions())),
            (.didDisconnect, .disconnection(session, nil)), (.didDisconnect, .disconnection(session, .commit)),
            (.showProgressScreen, .gate(gate, session)), (.onboardingSceneDidChange, .gate(gate, nil)),
            (.didDiscardSceneSessions, .discarded([discarded, discarded])), (.didDiscardSceneSessions, .discarded([])),
        ]
        for (kind, facts) in all {
            let event = SceneEvent(kind, EventNumber(epoch: 1, sequence: 2))
            let kept = facts.kept(of: event, for: .gallery)
            #expect(EventFacts(kept: kept, of: event, for: .gallery) == facts, "\(kind)")
        }
        for kind in SceneEventKind.allCases {
            for text in ["", "{", "{}", "[]", "7", #"{"session":7,"gate":{"state":"x"},"sessions":[{}]}"#] {
                #expect(
                    EventFacts(kept: Array(text.utf8), of: SceneEvent(kind), for: .gallery) == nil, "\(kind) \(text)")
            }
        }
    }
}
