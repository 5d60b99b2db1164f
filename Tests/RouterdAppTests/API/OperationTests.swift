import Crypto
import Foundation
import HTTPTypes
import HummingbirdTesting
import Router
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// Every operation of the API is called, and answers as its schema says.
@Suite("Operations", .longest)
struct OperationTests {
    @Test func everyOperationAnswersAsItsSchemaSays() async throws {
        // Rules that are put would take the place of a remote one, so that this one is of another daemon.
        var options = TestDaemon.Options()
        let far = PluginID(unchecked: "com.example.far")
        options.rules = [
            RemoteRule(
                id: far, transport: .callOut(CallOutSettings(url: "http://127.0.0.1:1/")), quarantineAfter: 1)
        ]
        let first = try await withDaemon(options) { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("win-1", at: "http://127.0.0.1:9/")
            try await daemon.post(about: "a")
            #expect(try await daemon.call(.get, "/v1/plugins").text.contains(#""state":"quarantined""#))
            var calls = try Calls(daemon: daemon)
            let enabled = try await calls.call("enablePlugin", "/v1/plugins/\(far)/enable")
            #expect(enabled["id"] == "com.example.far" && enabled["state"] == "ready")
            return calls.called
        }
        let root = APIKey(name: "root", key: "rk_root", scopes: [.admin], application: nil)
        let second = try await withDaemon(TestDaemon.Options(keys: [root])) { daemon in
            var calls = try Calls(daemon: daemon)
            try await calls.call("putKey", "/v1/keys/ci", #"{"scopes":["read"]}"#, headers: bearer("rk_root"))
            try await calls.call("deleteKey", "/v1/keys/ci", headers: bearer("rk_root"))
            return calls.called
        }
        try await withReceiver { receiver in
            try await withDaemon(TestDaemon.Options(isLive: true)) { daemon in
                var calls = try Calls(daemon: daemon)
                try await calls.prepare(receiver)
                try await calls.useSessions(receiver)
                try await calls.useStreams()
                try await calls.useGate()
                try await calls.useNotifications()
                try await calls.useSources()
                try await calls.operate()
                #expect(
                    calls.called.union(first).union(second).symmetricDifference(Operation.all.map(\.name)).sorted()
                        == [])
            }
        }
    }

    @Test func documentNamesEachOperationOnce() throws {
        let document = try JSONValue(parsing: OpenAPIDocument.bytes, limits: .configuration)
        #expect(Set(Operation.all.map(\.name)).count == Operation.all.count)
        for operation in Operation.all {
            let item = document.at("paths", operation.path, operation.method.rawValue.lowercased())
            #expect(item["operationId"]?.asString == operation.name)
            #expect(operation.summary.hasSuffix("."), "\(operation.name)")
            #expect(item["responses"]?["4XX"] != nil, "\(operation.name)")
            #expect(item["x-bounds"]?["share"]?.asString == operation.bounds.share.rawValue, "\(operation.name)")
        }
        let push = document.at("paths", "/v1/applications/{application}/notifications", "post", "parameters")
        let fields = push.asArray?.filter { $0["in"] == "header" }.compactMap { $0["name"]?.asString }
        #expect(
            fields == [
                "apns-id", "apns-priority", "apns-expiration", "apns-collapse-id", "Idempotency-Key", "traceparent",
                "tracestate",
            ])
        let text = String(decoding: OpenAPIDocument.bytes, as: UTF8.self)
        let names = Set(ResourceSchemas.all.map(\.name))
        for part in text.split(separator: "#/components/schemas/").dropFirst() {
            #expect(names.contains(String(part.prefix { $0 != "\"" })))
        }
    }

    @Test func boundsFitTheirOperations() {
        for operation in Operation.all {
            let (bounds, name) = (operation.bounds, operation.name)
            #expect(operation.body == nil || bounds.body > 0, "\(name) reads its body.")
            #expect((operation.access == .open) == (bounds.share == .none), "\(name) counts against a share.")
            let isList = operation.parameters.contains { $0.name == "cursor" }
            #expect(!isList || bounds == .page, "\(name) is a list.")
        }
    }

    @Test func anAnswerBeyondItsBoundIsRefused() throws {
        let bounds = Operation.Bounds(body: 0, answer: 100, share: .line)
        try bounds.check(.json(.ok, Array(repeating: 0, count: 99)))
        #expect { try bounds.check(.json(.ok, Array(repeating: 0, count: 100))) } throws: {
            ($0 as? Problem)?.code == "answer-too-large"
        }
    }

    /// `RECORD_SNAPSHOTS=1` writes the table of the page again.
    @Test func pageOfTheAPIHasItsTable() throws {
        let (page, expected) = try ProjectFiles.page("API.md", table: OpenAPIDocument.table)
        #expect(page == expected)
    }
}

/// Calls of operations, each compared with its schema.
private struct Calls {
    let daemon: TestDaemon
    let check = SchemaCheck()
    var called: Set<String> = []

    private let gallery = TestDaemon.gallery
    private let issuer: TestIssuer

    init(daemon: TestDaemon) throws {
        self.daemon = daemon
        issuer = try TestIssuer()
    }

    @discardableResult
    mutating func call(
        _ name: String, _ path: String, _ body: String? = nil, headers: [String: String] = [:]
    ) async throws -> Answer {
        called.insert(name)
        let operation = try #require(Operation.all.first { $0.name == name }, "\(name)")
        let answer = try await daemon.call(operation.method, path, body, headers: headers)
        if answer.headers[.contentType] == "application/problem+json" {
            Issue.record("\(name): \(answer.status) \(answer.text)")
            return answer
        }
        #expect(answer.bytes.count <= operation.bounds.answer ?? .max, "\(name)")
        let known = operation.answers.first { $0.status == answer.status }
        guard let known else {
            Issue.record("\(name): \(answer.status) is not documented: \(answer.text)")
            return answer
        }
        if known.contentType == "application/json", let schema = known.schema {
            let fault = check.fault(in: answer.json, schema)
            #expect(fault == nil, "\(name): \(answer.text)")
        }
        if known.schema == nil { #expect(answer.bytes.isEmpty, "\(name)") }
        return answer
    }

    mutating func prepare(_ receiver: Receiver) async throws {
        let endpoint = #"{"url":"\#(receiver.url("/delegate"))","secret":"\#(Receiver.secret)"}"#
        let manifest = #"{"sceneConfigurations":[{"name":"Standard","endpoint":\#(endpoint)}]}"#
        try await call(
            "putApplication", gallery,
            """
            {"displayName":"Gallery","manifest":\(manifest),"delegate":\(endpoint),
             "delivery":{"retrySchedule":[3600],"statuses":{"404":"retry"},"headOfLine":{"policy":"park"}},
             "gates":{"passcode":\(issuer.policy(#","anySubject":true"#))}}
            """)
        try await call("listApplications", "/v1/applications?limit=1")
        try await call("getApplication", "\(gallery)?device=tablet")
        try await call("rotateDelegateSecret", "\(gallery)/delegate/rotate-secret")
        try await call("resumeDelegate", "\(gallery)/delegate/resume")
        try await call(
            "rotateConfigurationSecret", "\(gallery)/sceneConfigurations/Standard/endpoint/rotate-secret",
            #"{"version":"v1a","overlapSeconds":1}"#)
    }

    mutating func useSessions(_ receiver: Receiver) async throws {
        for window in ["win-1", "win-2"] {
            try await call(
                "putSession", "\(gallery)/sessions/\(window)",
                """
                {"device":"tablet","activationState":"foregroundActive","leaseSeconds":600,
                 "endpoint":{"url":"\(receiver.url())","secret":"\(Receiver.secret)"}}
                """)
        }
        try await call(
            "putSession", "\(gallery)/sessions/closed",
            """
            {"activationState":"background","endpoint":{"url":"http://127.0.0.1:1/"},"activationConditions":
             {"prefersToActivateForTargetContentIdentifierPredicate":"SELF == 'closed'"}}
            """)
        try await call("listSessions", "\(gallery)/sessions?device=tablet&state=foregroundActive")
        try await call("putSessionBatch", "\(gallery)/sessions:batch", #"{"id":"win-3"}"#)
        let session = "\(gallery)/sessions/win-1"
        try await call("patchSession", session, #"{"userInfo":{"a":1}}"#)
        try await call("getSession", session)
        try await call("activateSession", "\(session)/activate")
        try await call("refreshSession", "\(session)/refresh")
        try await call("refreshSessions", "\(gallery)/sessions:refresh", #"{"except":"win-1"}"#)
        try await call("testSession", "\(session)/test")
        try await call("rotateSessionSecret", "\(session)/endpoint/rotate-secret")
        try await call("postActivation", "\(gallery)/activations", #"{"session":"win-1"}"#)
        try await call("disconnectSession", "\(gallery)/sessions/win-3/disconnect")
        try await call("deleteSession", "\(gallery)/sessions/win-3?dismissal=standard")
    }

    mutating func useStreams() async throws {
        let session = "\(gallery)/sessions/stream"
        try await call(
            "putSession", session,
            """
            {"endpoint":{"stream":true},"activationConditions":
             {"prefersToActivateForTargetContentIdentifierPredicate":"SELF == 'stream'"}}
            """)
        let polled = try await call("streamDeliveries", "\(session)/deliveries?waitSeconds=60")
        let id = try #require(polled["deliveries"].asArray?.first?["id"]?.asString)
        try await call("refuseDelivery", "\(session)/deliveries/\(id)/nack", #"{"retryAfterSeconds":3600}"#)
        try await call("acknowledgeDelivery", "\(session)/deliveries/\(id)/ack")
        try await call("acknowledgeDeliveries", "\(session)/deliveries:ack", #"{"ids":["\#(id)"]}"#)
        try await call("getSessionApplication", "\(session)/application")
        try await call("postSessionToken", "\(session)/tokens", #"{"lifetimeSeconds":60,"device":"tablet"}"#)
        try await call("deleteSession", session)
    }

    mutating func useGate() async throws {
        let key = P256.Signing.PrivateKey()
        try await atGate("openGate", "open", term: nil)
        try await call("getGate", "\(Tablet.gate)?device=tablet&language=de")
        try await call("listGates", "\(gallery)/gates")
        try await atGate(
            "reportProgress", "progress",
            #""operationId":"a","step":"b","currentStepNumber":1,"totalNumberOfSteps":2"#)
        try await call("checkPasscode", "\(Tablet.gate)/passcode/check", #"{"passcode":"123"}"#)
        let publicKey = Data(key.publicKey.x963Representation).base64EncodedString()
        try await atGate(
            "createPasscode", "passcode/create",
            #""passcode":"1234","confirmation":"1234","deviceKey":"\#(publicKey)""#)
        try await call("getPasscode", "\(Tablet.gate)/passcode?device=tablet")
        try await atGate("succeedAtGate", "succeed")
        try await lock()
        try await call(
            "configureGate", "\(Tablet.gate)/configuration", #"{"device":"tablet","configuration":{"server":"a"}}"#)
        try await call("lockGate", "\(Tablet.gate)/lock", #"{"session":"win-1"}"#)
        try await atGate("inputPasscode", "passcode/input", #""passcode":"1234""#)
        try await atGate(
            "changePasscode", "passcode/change",
            #""passcode":"1234","newPasscode":"4321","confirmation":"4321""#)
        try await atGate("putDeviceKey", "passcode/key", #""passcode":"4321","deviceKey":"\#(publicKey)""#)
        try await lock()
        let challenge = try await atGate("challengeDevice", "passcode/challenge")["challenge"].asString ?? ""
        let signature = try key.signature(for: Data(challenge.utf8)).derRepresentation.base64EncodedString()
        try await atGate(
            "answerChallenge", "passcode/answer", #""challenge":"\#(challenge)","signature":"\#(signature)""#)
        try await lock()
        let nonce = try await atGate("challengeDevice", "passcode/challenge", #""proof":true"#)["challenge"].asString
        try await atGate("proveByToken", "passcode/proof", #""token":"\#(try issuer.token(nonce ?? ""))""#)
        try await call("lockGates", "\(gallery)/gates/lock", "")
        try await call("resetGate", "\(Tablet.gate)/reset", #"{"device":"tablet"}"#)
        try await atGate("failAtGate", "fail")
        try await atGate("succeedAtGate", "succeed")
        try await atGate("openGate", "open", term: nil)
        try await atGate(
            "createPasscode", "passcode/create", #""passcode":"1234","confirmation":"1234""#)
        try await atGate("succeedAtGate", "succeed")
    }

    private func lock() async throws {
        for window in ["win-1", "win-2"] { try await daemon.move(window, to: "background") }
        try await daemon.move("win-1", to: "foregroundActive")
    }

    @discardableResult
    private mutating func atGate(_ name: String, _ step: String, _ fields: String = "") async throws -> Answer {
        try await atGate(name, step, fields, term: try await daemon.term)
    }

    @discardableResult
    private mutating func atGate(
        _ name: String, _ step: String, _ fields: String = "", term: Int64?
    ) async throws -> Answer {
        let session = try await daemon.call(.get, "\(Tablet.gate)?device=tablet")["responsible"].asString ?? "win-1"
        let parts = [#""session":"\#(session)""#, term.map { #""term":\#($0)"# }, fields.isEmpty ? nil : fields]
        return try await call(name, "\(Tablet.gate)/\(step)", "{\(parts.compactMap(\.self).joined(separator: ","))}")
    }

    mutating func useNotifications() async throws {
        try await call(
            "explain", "\(gallery)/explain?limit=2&priority=5&parts=true", #"{"notification-content-id":"closed"}"#)
        try await call("explain", "\(gallery)/explain", "{}")
        try await call(
            "tryConditions", "\(gallery)/sessions/closed/trial?limit=2&last=10&parts=true",
            #"{"activationConditions":{"preferring":["other"]},"notification":{"contentId":"closed"}}"#)
        let posted = try await call(
            "postNotification", "\(gallery)/notifications", #"{"notification-content-id":"closed","aps":{}}"#)
        try await call("postEvent", "\(gallery)/events", #"{"url":"closed"}"#)
        try await call("postNotificationBatch", "\(gallery)/notifications:batch", "{}\n")
        try await call("listLanes", "/v1/lanes?application=com.example.gallery")
        try await call("resumeLane", "/v1/lanes/closed/resume?application=com.example.gallery")
        let path = "/v1/notifications/\(posted.id)"
        try await call("cancelNotification", "\(path)/cancel")
        try await daemon.until { try await daemon.notification(posted.id)["state"] == "cancelled" }
        try await call("getNotification", path)
        try await call("explainNotification", "\(path)/explain?limit=1&parts=true")
        try await call("listNotifications", "/v1/notifications?state=cancelled&limit=1")
        try await call("replayNotification", "\(path)/replay")
        try await call("postReplay", "/v1/replays", #"{"state":"cancelled","dryRun":true}"#)
        let replay = try await call("postReplay", "/v1/replays", #"{"state":"cancelled"}"#)
        try await call("listReplays", "/v1/replays")
        try await call("getReplay", "/v1/replays/\(replay.id)")
        try await call("cancelReplay", "/v1/replays/\(replay.id)/cancel")
    }

    mutating func useSources() async throws {
        let source = "/v1/sources/shop"
        try await call(
            "putSource", source,
            #"{"kind":"cloudevents","application":"com.example.gallery","contentId":"{subject}","priority":5}"#)
        try await call("listSources", "/v1/sources?application=com.example.gallery")
        try await call("getSource", source)
        let event = #"{"specversion":"1.0","type":"a","source":"/b","id":"c","subject":"closed"}"#
        let sample = #"{"headers":{"content-type":"application/cloudevents+json"},"body":\#(JSONText.quoted(event))}"#
        try await call("testSource", "\(source)/test", sample)
        try await call("postToSource", source, event, headers: ["content-type": "application/cloudevents+json"])
        let asked = try await call("askSource", source, headers: ["webhook-request-origin": "example.com"])
        let isAllowed = asked.headers.contains {
            $0.name.canonicalName == "webhook-allowed-origin" && $0.value == "example.com"
        }
        #expect(asked.status == 200 && isAllowed)
        let signed = "/v1/sources/code"
        try await call(
            "putSource", signed,
            #"{"kind":"github","application":"com.example.gallery","secrets":["the-secret-of-the-sender"]}"#)
        let rotated = try await call("rotateSourceSecret", "\(signed)/rotate-secret", #"{"overlapSeconds":600}"#)
        #expect(rotated["secrets"].asArray?.count == 2)
        try await call("deleteSource", source)
    }

    mutating func operate() async throws {
        try await call("apply", "/v1/apply?dryRun=true", #"{"kind":"Application","id":"com.example.b","spec":{}}"#)
        try await call("getStatus", "/v1/status")
        try await call("getMetrics", "/metrics")
        try await call("listPlugins", "/v1/plugins")
        try await call("listKeys", "/v1/keys")
        try await call("listChanges", "/v1/changes?limit=1")
        try await call("listPluginManifests", "/v1/plugin-manifests")
        try await call(
            "evaluateRules", "/v1/rules/evaluate",
            #"{"application":"com.example.gallery","rules":[{"name":"a","when":"priority < 10","then":"drop"}]}"#)
        try await call("getRules", "/v1/rules")
        try await call("putRules", "/v1/rules", #"{"rules":[{"name":"a","when":"priority < 5","then":"drop"}]}"#)
        try await call("deleteRules", "/v1/rules")
        try await call("compareRules", "/v1/rules/diff?last=10", "rules: [{name: a, then: drop}]")
        try await call("confirmClock", "/v1/clock/confirm")
        // A stream that is accepted does not end, so that its head is read alone.
        called.insert("stream")
        let head = try await StreamConnection.open(try #require(daemon.client.port)) { $0.head }
        #expect(head.status == 200 && head.headers["content-type"] == "text/event-stream")
        let refused = try await daemon.call(.get, "/v1/applications/com.example.none")
        #expect(refused.status == 404 && check.fault(in: refused.json, .named("Problem")) == nil)
        try await call("getHealth", "/healthz")
        try await call("getReadiness", "/readyz")
        try await call("getOpenAPI", "/openapi.json")
        try await call("getConsole", "/console/")
        try await call("getConsoleFile", "/console/app.js")
        try await call("deleteApplication", gallery)
    }
}

private enum JSONText {
    static func quoted(_ text: String) -> String {
        var bytes: [UInt8] = []
        JSONWriter.append(string: text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
