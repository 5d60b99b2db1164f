import HTTPTypes
import Router
import RouterPlugin
import RouterdApp
import TestSupport
import Testing

@testable import DaemonTesting

/// Gates over HTTP: permitted requests, and their answers.
@Suite("Gates", .longest)
struct GateTests {
    private static let gate = "\(TestDaemon.gallery)/gate"
    private static let gated = #"{"gates":{"onboarding":{}}}"#

    private static func report(_ session: String, term: Int, _ fields: String = "") -> String {
        #"{"session":"\#(session)","term":\#(term)\#(fields.isEmpty ? "" : ",\(fields)")}"#
    }

    private static let step = #""operationId":"op","step":"loadingMetadata","totalNumberOfSteps":3"#

    /// A phone with two windows, and a window without a device.
    private static func withPhone(
        application: String = gated, _ body: @Sendable (TestDaemon) async throws -> Void
    ) async throws {
        try await withGallery(application: application) { daemon, receiver in
            for window in ["win-1", "win-2"] {
                try await daemon.putSession(
                    window, at: receiver.url(), #""device":"phone","activationState":"foregroundActive""#)
            }
            try await daemon.putSession("win-3", at: receiver.url(), #""activationState":"background""#)
            try await body(daemon)
        }
    }

    @Test func aGateIsOpenedByReports() async throws {
        try await Self.withPhone { daemon in
            let closed = try await daemon.call(.get, "\(Self.gate)?device=phone")
            #expect(closed["state"] == "notOpened" && closed["term"] == 0 && closed["responsible"] == .null)
            let begun = try await daemon.call(.post, "\(Self.gate)/open", #"{"session":"win-1"}"#)
            #expect(begun.status == 200 && begun["state"] == "onboarding" && begun["responsible"] == "win-1")
            #expect(begun["device"] == "phone" && begun["term"] == 1)
            // A second window that asks waits, and is told for which session.
            let second = try await daemon.call(.post, "\(Self.gate)/open", #"{"session":"win-2"}"#)
            #expect(second["responsible"] == "win-1" && second["term"] == 1)
            let screens = try await ["win-1", "win-2", "win-3"].asyncMap { window in
                try await daemon.session(window)["applicationScreen"].asString
            }
            #expect(screens == ["onboarding", "screenshot", "onboarding"])
            let scenes = try await daemon.call(.get, "\(TestDaemon.gallery)?device=phone")
            #expect(scenes["currentSession"] == "win-2", "It became active last.")
            #expect(scenes["onboardingSession"] == "win-1")
            #expect(try await daemon.call(.get, TestDaemon.gallery)["onboardingSession"] == .null)
            let told = try await daemon.call(
                .post, "\(Self.gate)/progress",
                Self.report(
                    "win-1", term: 1, #"\#(Self.step),"currentStepNumber":2,"parameters":["a"],"defaultMessage":"Wait""#
                ))
            #expect(told["progress", "currentStepNumber"] == 2 && told["progress", "parameters"] == ["a"])
            let posted = try await daemon.post("{}", query: "?device=phone")
            #expect(posted.status == 202)
            let held = try await daemon.notification(posted.id)
            #expect(held["heldBy"] == "gate" && held["heldUntil"] == .null && held["device"] == "phone")
            #expect(try await daemon.call(.get, "\(Self.gate)?device=phone")["held"] == 1)
            let done = try await daemon.call(
                .post, "\(Self.gate)/succeed", Self.report("win-1", term: 1, #""onboardingId":"ada""#))
            #expect(done["state"] == "opened" && done["onboardingId"] == "ada" && done["progress"] == .null)
            #expect(
                try await daemon.call(.get, "\(TestDaemon.gallery)?device=phone")["onboardingSession"] == .null)
            // A repetition is accepted: the answer may have been lost.
            let again = try await daemon.call(.post, "\(Self.gate)/succeed", Self.report("win-1", term: 1))
            #expect(again.status == 200 && again["onboardingId"] == "ada")
            #expect(try await daemon.session("win-2")["applicationScreen"] == "app")
            let list = try await daemon.call(.get, "\(TestDaemon.gallery)/sessions?device=phone")
            #expect(list["sessions"].asArray?.map { $0["applicationScreen"] ?? .null } == ["app", "app"])
        }
    }

    @Test func aForbiddenAnswerIsRefusedAndChangesNothing() async throws {
        try await Self.withPhone { daemon in
            func say(_ verb: String, _ body: String) async throws -> Answer {
                try await daemon.call(.post, "\(Self.gate)/\(verb)", body)
            }
            expectProblem(try await say("fail", Self.report("win-1", term: 0)), 409, "wrong-gate-state")
            try await daemon.call(.post, "\(Self.gate)/open", #"{"session":"win-1"}"#)
            try await daemon.call(.post, "\(TestDaemon.gallery)/sessions/win-1/disconnect")
            let state = try await daemon.call(.get, "\(Self.gate)?device=phone").bytes
            let stale = try await say("succeed", Self.report("win-2", term: 1))
            expectProblem(stale, 409, "stale-term")
            #expect(stale["currentTerm"] == 2 && stale["pointer"] == "/term")
            expectProblem(try await say("open", #"{"session":"win-1"}"#), 409, "not-at-gate")
            expectProblem(try await say("open", #"{"session":"win-9"}"#), 404, "unknown-session")
            expectProblem(try await say("open", "{}"), 422, "missing-field")
            expectProblem(try await say("open", #"{"session":"win-2","device":"phone"}"#), 400, "unknown-field")
            expectProblem(try await say("succeed", #"{"session":"win-2"}"#), 422, "missing-field")
            let long = String(repeating: "x", count: 257)
            for fields in [
                #""currentStepNumber":4,\#(Self.step)"#, #""currentStepNumber":0,\#(Self.step)"#,
                #""currentStepNumber":1,\#(Self.step),"defaultMessage":"""#,
                #""currentStepNumber":1,\#(Self.step),"parameters":["\#(String(repeating: "x", count: 1025))"]"#,
                #""currentStepNumber":1,"operationId":"\#(long)","step":"s","totalNumberOfSteps":1"#,
            ] {
                expectProblem(try await say("progress", Self.report("win-2", term: 2, fields)), 422, "invalid-field")
            }
            expectProblem(
                try await say("succeed", Self.report("win-2", term: 2, #""onboardingId":"\#(long)""#)), 422,
                "invalid-field")
            #expect(try await daemon.call(.get, "\(Self.gate)?device=phone").bytes == state)
            try await daemon.putSession(
                "win-1", at: "http://127.0.0.1:9/", #""device":"phone","activationState":"background""#)
            let other = try await say("succeed", Self.report("win-1", term: 2))
            expectProblem(other, 409, "not-responsible")
            #expect(other["detail"].asString?.contains("win-2") == true)
        }
    }

    @Test func gatesAreListedByDeviceAndReset() async throws {
        try await Self.withPhone { daemon in
            for window in ["win-1", "win-3"] {
                try await daemon.call(.post, "\(Self.gate)/open", #"{"session":"\#(window)"}"#)
            }
            var devices: [JSONValue] = []
            var cursor = ""
            repeat {
                let page = try await daemon.call(.get, "\(TestDaemon.gallery)/gates?limit=1\(cursor)")
                devices += page["gates"].asArray?.map { $0["device"] ?? .null } ?? []
                cursor = page["cursor"].asString.map { "&cursor=\($0)" } ?? ""
            } while !cursor.isEmpty
            #expect(devices == [.null, "phone"])
            // The gate has not been opened, but a session may ask to open it.
            try await daemon.putSession("win-4", at: "http://127.0.0.1:9/", #""device":"pad""#)
            #expect(try await daemon.post("{}", query: "?device=pad")["state"] == "held")
            let all = try await daemon.call(.get, "\(TestDaemon.gallery)/gates")["gates"].asArray
            #expect(all?.map { $0["device"] ?? .null } == [.null, "pad", "phone"])
            #expect(all?[1]["state"] == "notOpened" && all?[1]["held"] == 1)
            let patch = #"{"userInfo":{"name":"Ada"}}"#
            try await daemon.call(.patch, "\(TestDaemon.gallery)/sessions/win-2", patch)
            expectProblem(try await daemon.call(.post, "\(Self.gate)/reset", "{}"), 422, "missing-field")
            let reset = try await daemon.call(.post, "\(Self.gate)/reset", #"{"device":"phone"}"#)
            #expect(reset["state"] == "resetting" && reset["term"] == 2 && reset["responsible"] == "win-1")
            #expect(try await daemon.session("win-2")["userInfo", "name"] == .null)
            expectProblem(
                try await daemon.call(.post, "\(Self.gate)/reset", Self.report("win-2", term: 2)), 409,
                "not-responsible")
            let next = try await daemon.call(.post, "\(Self.gate)/succeed", Self.report("win-1", term: 2))
            #expect(next["state"] == "onboarding" && next["responsible"] == "win-2" && next["term"] == 3)
        }
    }

    @Test func theWelcomeScreenHasTextsOfTheLanguage() async throws {
        let prompts = #"{"de":{"title":"Willkommen","start":"Los"},"de-AT":{"title":"Grüß Gott"},"fr":{}}"#
        let demo =
            #"{"manifest":{"sceneConfigurations":[{"name":"Demo"}]},"gates":{"onboarding":{"configured":false,"demoConfiguration":"Demo","prompts":\#(prompts)}}}"#
        try await withGallery(application: demo) { daemon, _ in
            func title(_ language: String) async throws -> [JSONValue] {
                let welcome = try await daemon.call(.get, "\(Self.gate)?language=\(language)")["welcome"]
                #expect(welcome.at("configured") == false && welcome.at("demoConfiguration") == "Demo")
                return [welcome.at("prompts", "title"), welcome.at("prompts", "start")]
            }
            #expect(try await title("de-AT-1996") == ["Grüß Gott", "Los"])
            #expect(try await title("de-ch") == ["Willkommen", "Los"])
            #expect(try await title("fr") == ["Welcome", "Start"])
            // A read application can be put again, and stays the same.
            let kept = try await daemon.call(.get, TestDaemon.gallery)
            #expect(kept["gates", "onboarding", "prompts", "de-at", "title"] == "Grüß Gott")
            let gates = String(decoding: kept["gates"].serialized(), as: UTF8.self)
            try await daemon.putGallery(
                #"{"manifest":{"sceneConfigurations":[{"name":"Demo"}]},"gates":\#(gates)}"#)
            #expect(try await daemon.call(.get, TestDaemon.gallery)["gates"] == kept["gates"])
        }
    }

    @Test func aSessionShowsTheDemo() async throws {
        let demo =
            #"{"manifest":{"sceneConfigurations":[{"name":"Main"},{"name":"Demo"}]},"#
            + #""gates":{"onboarding":{"demoConfiguration":"Demo"}}}"#
        try await Self.withPhone(application: demo) { daemon in
            let open = "\(Self.gate)/open"
            let shown = try await daemon.call(.post, open, #"{"session":"win-1","demo":true}"#)
            #expect(shown.status == 200 && shown["state"] == "demo" && shown["responsible"] == .null)
            let session = try await daemon.session("win-1")
            #expect(session["applicationScreen"] == "demo" && session["disabled"] == "demo")
            #expect(session["configuration"] == "Demo")
            #expect(try await daemon.call(.get, "\(Self.gate)?device=phone")["state"] == "notOpened")
            expectProblem(
                try await daemon.call(.post, "\(Self.gate)/succeed", Self.report("win-1", term: 0)), 409, "not-at-gate")
            let begun = try await daemon.call(.post, open, #"{"session":"win-1"}"#)
            #expect(begun["state"] == "onboarding" && begun["responsible"] == "win-1")
            #expect(try await daemon.session("win-1")["configuration"] == "Main")
            expectProblem(try await daemon.call(.post, open, #"{"session":"win-1","demo":1}"#), 400, "wrong-type")
            try await daemon.putGallery(
                #"{"manifest":{"sceneConfigurations":[{"name":"Main"},{"name":"Demo"}]},"gates":{"onboarding":{}}}"#)
            expectProblem(
                try await daemon.call(.post, open, #"{"session":"win-2","demo":true}"#), 409, "no-demo")
        }
    }

    /// The gates have had no event, and the sessions in demo mode are behind a thousand others.
    @Test func gatesNameTheirSessionsInDemoMode() async throws {
        let application =
            #"{"manifest":{"supportsMultipleScenes":true,"sceneConfigurations":["#
            + #"{"name":"Main","endpoint":{"url":"http://127.0.0.1:9/"}},{"name":"Demo","endpoint":{"url":"http://127.0.0.1:9/"}}]},"#
            + #""delivery":{"retrySchedule":[600]},"gates":{"onboarding":{"demoConfiguration":"Demo"}}}"#
        try await withDaemon { daemon in
            try await daemon.putGallery(application)
            let demos = (0...DaemonLimits.demosShown).map { "z\(100 + $0)" }
            let lines =
                (0..<1000).map { #"{"id":"a\#($0)","device":"phone"}"# }
                + demos.map { #"{"id":"\#($0)","device":"phone","activationState":"background"}"# }
            let sessions = "\(TestDaemon.gallery)/sessions"
            #expect(
                try await daemon.call(.post, "\(sessions):batch", lines.joined(separator: "\n")).status == 200)
            #expect(try await daemon.call(.get, "\(TestDaemon.gallery)/gates")["gates"] == [])
            for session in demos {
                let shown = try await daemon.call(
                    .post, "\(Self.gate)/open", #"{"session":"\#(session)","demo":true}"#)
                #expect(shown["state"] == "demo", "\(shown.text)")
            }
            let named = JSONValue.array(demos.dropLast().map { .string($0) })
            let listed = try await daemon.call(.get, "\(TestDaemon.gallery)/gates")["gates"].asArray ?? []
            let gate = try await daemon.call(.get, "\(Self.gate)?device=phone").json
            #expect(listed.count == 1 && listed.first?.at("device") == "phone")
            for shown in listed + [gate] {
                #expect(shown.at("inDemo").asInt64 == Int64(demos.count) && shown.at("demoSessions") == named)
                #expect(shown.at("state") == "notOpened")
            }
            let other = try await daemon.call(.get, Self.gate)
            #expect(other["inDemo"] == .null && other["demoSessions"] == .null)
        }
    }

    @Test func aDeviceIsConfiguredBeforeItsGateOpens() async throws {
        try await Self.withPhone(application: #"{"gates":{"onboarding":{"configured":false}}}"#) { daemon in
            let open = #"{"session":"win-1"}"#
            expectProblem(try await daemon.call(.post, "\(Self.gate)/open", open), 409, "not-configured")
            func configure(_ body: String) async throws -> Answer {
                try await daemon.call(.put, "\(Self.gate)/configuration", body)
            }
            expectProblem(try await configure(#"{"configuration":{}}"#), 422, "missing-field")
            expectProblem(try await configure(#"{"device":"phone"}"#), 422, "missing-field")
            expectProblem(try await configure(#"{"device":"phone","configuration":7}"#), 422, "invalid-field")
            let long = String(repeating: "x", count: RouterLimits.userInfoBytes)
            expectProblem(
                try await configure(#"{"device":"phone","configuration":{"x":"\#(long)"}}"#), 422, "invalid-field")
            #expect(try await configure(#"{"device":"phone","configuration":{"server":"a"}}"#)["state"] == "notOpened")
            let shown = try await daemon.call(.get, "\(Self.gate)?device=phone")
            #expect(shown["configuration", "server"] == "a" && shown["welcome", "configured"] == true)
            #expect(try await daemon.call(.get, Self.gate)["welcome", "configured"] == false)
            #expect(try await daemon.call(.post, "\(Self.gate)/open", open)["state"] == "onboarding")
            #expect(try await configure(#"{"device":"phone","configuration":null}"#).status == 200)
            #expect(try await daemon.call(.get, "\(Self.gate)?device=phone")["configuration"] == .null)
        }
    }

    @Test func anApplicationIsLockedAtOnce() async throws {
        let application = #"{"gates":{"passcode":{}}}"#
        try await Self.withPhone(application: application) { daemon in
            func post(_ path: String, _ body: String) async throws -> Answer {
                try await daemon.call(.post, "\(TestDaemon.gallery)/\(path)", body)
            }
            expectProblem(try await post("gate/lock", #"{"session":"win-1"}"#), 409, "no-passcode")
            _ = try await post("gate/open", #"{"session":"win-1"}"#)
            let passcode = #""passcode":"alicesecret","confirmation":"alicesecret""#
            _ = try await post("gate/passcode/create", Self.report("win-1", term: 1, passcode))
            #expect(try await post("gate/succeed", Self.report("win-1", term: 1))["state"] == "opened")
            let locked = try await post("gate/lock", #"{"session":"win-2"}"#)
            #expect(locked["state"] == "locked" && locked["responsible"] == "win-2" && locked["term"] == 2)
            expectProblem(try await post("gate/lock", "{}"), 422, "missing-field")
            #expect(try await post("gates/lock", "")["locked"] == 0)
            _ = try await post("gate/passcode/input", Self.report("win-2", term: 2, #""passcode":"alicesecret""#))
            #expect(try await post("gates/lock", "")["locked"] == 1)
            #expect(try await daemon.call(.get, "\(Self.gate)?device=phone")["state"] == "locked")
        }
    }

    @Test func operationsAndFailuresAreShown() async throws {
        try await Self.withPhone { daemon in
            func say(_ verb: String, _ fields: String) async throws -> Answer {
                try await daemon.call(.post, "\(Self.gate)/\(verb)", Self.report("win-1", term: 1, fields))
            }
            try await daemon.call(.post, "\(Self.gate)/open", #"{"session":"win-1"}"#)
            let step = #""step":"upload","currentStepNumber":1,"totalNumberOfSteps":2"#
            let failed = #""time":"2026-01-02T03:04:05Z","failure":{"status":503,"reason":"busy"}"#
            let first = try await say("progress", #""operationId":"a",\#(step),\#(failed)"#)
            #expect(first["progress", "time"] == "2026-01-02T03:04:05.000Z", "\(first.text)")
            let second = try await say("progress", #""operationId":"b",\#(step)"#)
            #expect(second["progress", "operationId"] == "b" && second["operations", "b", "failure"] == .null)
            #expect(second["operations", "a", "failure", "status"] == 503)
            for (fields, code) in [
                (#""time":"yesterday""#, "invalid-field"), (#""failure":{"status":7}"#, "invalid-field"),
                (#""failure":{"why":"x"}"#, "unknown-field"),
            ] {
                let refused = try await say("progress", #""operationId":"a",\#(step),\#(fields)"#)
                #expect(refused["code"].asString == code, "\(refused.text)")
            }
            let next = try await say("fail", #""reason":"network","message":"No connection.""#)
            #expect(next["responsible"] == "win-2" && next["failure", "session"] == "win-1", "\(next.text)")
            #expect(next["failure", "reason"] == "network" && next["failure", "message"] == "No connection.")
        }
    }

    @Test func explainNamesTheGateThatWouldHoldTheNotification() async throws {
        try await Self.withPhone { daemon in
            let explain = "\(TestDaemon.gallery)/explain?device=phone"
            let held = try await daemon.call(.post, explain, "{}")
            #expect(held["gate", "device"] == "phone" && held["gate", "state"] == "notOpened")
            try await daemon.call(.post, "\(Self.gate)/open", #"{"session":"win-1"}"#)
            try await daemon.call(.post, "\(Self.gate)/succeed", Self.report("win-1", term: 1))
            #expect(try await daemon.call(.post, explain, "{}")["gate"] == .null)
        }
    }

    @Test func anApplicationWithoutAGateHasNone() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url(), #""activationState":"background""#)
            expectProblem(try await daemon.call(.get, Self.gate), 404, "gate-off")
            expectProblem(try await daemon.call(.post, "\(Self.gate)/open", #"{"session":"win-1"}"#), 404, "gate-off")
            #expect(try await daemon.call(.get, "\(TestDaemon.gallery)/gates")["gates"] == [])
            #expect(try await daemon.session("win-1")["applicationScreen"] == .null)
            #expect(try await daemon.call(.get, TestDaemon.gallery)["gates"] == .null)
        }
    }

    @Test func aResetWithoutASessionNeedsAnOperator() async throws {
        let keys = [
            APIKey(name: "root", key: "rk_root", scopes: [.admin], application: nil),
            APIKey(name: "scenes", key: "rk_sessions", scopes: [.sessions], application: nil),
        ]
        try await withDaemon(TestDaemon.Options(keys: keys)) { daemon in
            let root = ["authorization": "Bearer rk_root"]
            try await daemon.call(.put, TestDaemon.gallery, Self.gated, headers: root)
            let scenes = ["authorization": "Bearer rk_sessions"]
            expectProblem(
                try await daemon.call(.post, "\(Self.gate)/reset", #"{"device":"d"}"#, headers: scenes), 403,
                "scope-missing")
            #expect(try await daemon.call(.post, "\(Self.gate)/reset", #"{"device":"d"}"#, headers: root).status == 200)
        }
    }
}

extension Array {
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
