import Crypto
import Foundation
import HTTPTypes
import Router
import RouterPlugin
import RouterdApp
import TestSupport
import Testing

@testable import DaemonTesting

/// Passcodes over HTTP: requests, refusals, and the events of the windows.
@Suite("Passcodes", .longest)
struct PasscodeTests {
    private func withTablet(
        policy: String = Tablet.policy, _ options: TestDaemon.Options = .init(),
        _ body: @Sendable (TestDaemon, Receiver) async throws -> Void
    ) async throws {
        try await withReceiver { receiver in
            try await withDaemon(options) { daemon in
                try await daemon.putTablet(receiver, policy: policy)
                try await body(daemon, receiver)
            }
        }
    }

    @Test func aPolicyIsReadAndShownWithItsDefaults() async throws {
        try await withTablet(policy: "{}") { daemon, receiver in
            let shown = try await daemon.call(.get, TestDaemon.gallery)["gates", "passcode"]
            let expected = #"""
                {"minLength":8,"hasDigit":false,"hasUpper":false,"hasLower":false,"hasSpecial":false,
                "isDigitsOnly":false,"minUniqueChars":-1,"retryLimit":-1,"allowsBiometrics":true,
                "noPasscodeRequired":false,"lockTimeoutSeconds":300,"expirationDays":0}
                """#
            #expect(shown == (try JSONValue(parsing: Array(expected.utf8))))
            // A policy that was read can be put.
            let all = try await daemon.call(.get, TestDaemon.gallery)["gates"]
            let body = #"{"gates":\#(String(decoding: all.serialized(), as: UTF8.self))}"#
            #expect(try await daemon.putGallery(body).status == 200)
            #expect(try await daemon.call(.get, TestDaemon.gallery)["gates"] == all)
        }
    }

    /// The rules of a policy in order, each with a passcode that breaks it and the rules after it.
    @Test func theFirstRuleThatIsBrokenIsNamed() async throws {
        let policy = """
            {"minLength":6,"hasDigit":true,"hasUpper":true,"hasLower":true,"hasSpecial":true,"minUniqueChars":6}
            """
        let options = TestDaemon.Options(passcodeValidators: [NoDashes()])
        try await withTablet(policy: policy, options) { daemon, _ in
            _ = try await daemon.atGate("open", term: nil)
            let rules = [
                ("ーーーーー", "minLength"), ("ーーーーーーー", "hasDigit"), ("ーーーーーーー1", "hasUpper"),
                ("ーーーーーーA1", "hasLower"), ("ーーーーーaA1", "hasSpecial"), ("ーーーー!aA1", "minUniqueChars"),
                ("-ー?!aA1", "com.example.no-dashes"),
            ]
            for (text, rule) in rules {
                let answer = try await daemon.atGate(
                    "passcode/create", #""passcode":"\#(text)","confirmation":"other""#)
                expectProblem(answer, 422, "failed-to-meet-policy")
                #expect(answer["rule"].asString == rule)
            }
            #expect(try await daemon.passcodeStatus["isCreated"] == false)
        }
    }

    @Test func aPasscodeIsCheckedWithoutBeingKept() async throws {
        let policy = #"{"minLength":6,"hasDigit":true,"hasUpper":true,"hasSpecial":true,"minUniqueChars":4}"#
        let options = TestDaemon.Options(passcodeValidators: [NoDashes()])
        try await withTablet(policy: policy, options) { daemon, _ in
            func check(_ text: String) async throws -> Answer {
                try await daemon.call(.post, "\(Tablet.gate)/passcode/check", #"{"passcode":"\#(text)"}"#)
            }
            let all = try await check("a-a")
            #expect(all.status == 200 && all["meetsPolicy"].asBool == false)
            let faults = all["faults"].asArray ?? []
            let rules = ["minLength", "hasDigit", "hasUpper", "minUniqueChars", "com.example.no-dashes"]
            #expect(faults.compactMap { $0["rule"]?.asString } == rules)
            let isQuoted = faults.contains { $0["message"] == "No dashes, please." }
            #expect(isQuoted)
            // A character typed as two scalars counts as one, as everywhere with passcodes.
            let short = try await check("E\u{301}1!a\u{301}x")["faults"].asArray ?? []
            #expect(short.count == 1 && short.first?["rule"] == "minLength")
            let right = try await check("Abcd1!")
            #expect(right["meetsPolicy"].asBool == true && right["faults"].asArray?.isEmpty == true)
            #expect(try await daemon.passcodeStatus["isCreated"] == false)
            expectProblem(try await check(""), 422, "passcode-empty")
            let named = try await daemon.call(
                .post, "\(Tablet.gate)/passcode/check", #"{"passcode":"Abcd1!","session":"win-1"}"#)
            expectProblem(named, 400, "unknown-field")
        }
    }

    @Test func aSpeakerThatAsksTooOftenHasToWait() async throws {
        try await withTablet { daemon, _ in
            var refused: Answer?
            for _ in 0...10 * DaemonLimits.passcodeChecksPerSecond where refused == nil {
                let answer = try await daemon.call(.post, "\(Tablet.gate)/passcode/check", #"{"passcode":"12345678"}"#)
                if answer.status != 200 { refused = answer }
            }
            expectProblem(try #require(refused), 429, "too-many-requests")
        }
    }

    private struct NoDashes: PasscodeValidator {
        let id = PluginID(unchecked: "com.example.no-dashes")

        func objection(to passcode: Passcode, for application: ApplicationID) -> PasscodeObjection? {
            passcode.revealed().contains("-") ? PasscodeObjection(code: "dash", message: "No dashes, please.") : nil
        }
    }

    /// The same letters, typed on two keyboards: once as one scalar, once as two.
    @Test func oneMayTypeItOnAnotherKeyboard() async throws {
        try await withTablet { daemon, _ in
            try await daemon.takeOn(passcode: "\u{E9}t\u{E9}s")
            try await daemon.leaveAndComeBack()
            #expect(try await daemon.type("e\u{301}te\u{301}s")["state"] == "opened")
        }
    }

    @Test func aSpeakerThatTriesTooFastHasToWait() async throws {
        try await withTablet(policy: #"{"minLength":4,"lockTimeoutSeconds":0}"#) { daemon, _ in
            try await daemon.takeOn(passcode: "1234")
            try await daemon.leaveAndComeBack()
            for _ in 0..<3 {
                expectRefused(try await daemon.type("0000"), 403, "invalid-passcode", triesRemaining: -1)
            }
            let answer = try await daemon.type("1234")
            expectProblem(answer, 429, "too-many-tries")
            #expect(answer.headers[.retryAfter].flatMap { Int($0) }.map { (1...2).contains($0) } == true)
            #expect(try await daemon.gateState == "locked")
        }
    }

    /// Concurrent tries are compared one after the other, and none is lost.
    @Test func triesAtOnceAreCountedOneByOne() async throws {
        try await withTablet { daemon, _ in
            try await daemon.takeOn(passcode: "1234")
            try await daemon.leaveAndComeBack()
            let term = try await daemon.term
            let codes = try await withThrowingTaskGroup(of: String.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        try await daemon.atGate("passcode/input", #""passcode":"00\#(10 + number)""#, term: term)[
                            "code"
                        ]
                        .asString ?? ""
                    }
                }
                return try await group.reduce(into: [String]()) { $0.append($1) }
            }
            let compared = codes.filter { $0 == "invalid-passcode" || $0 == "retry-limit-reached" }
            #expect((1...3).contains(compared.count), "\(codes)")
            let refusals = ["too-many-tries", "too-many-requests", "overloaded", "stale-term"]
            #expect(codes.count == 20 && compared.count + codes.count { refusals.contains($0) } == 20, "\(codes)")
            let isReset = codes.contains("retry-limit-reached")
            #expect(try await daemon.gateState == (isReset ? "resetting" : "locked"))
            #expect(codes.filter { $0 == "retry-limit-reached" }.count <= 1, "\(codes)")
        }
    }

    @Test func theKeyOfTheDeviceUnlocks() async throws {
        let device = P256.Signing.PrivateKey()
        try await withTablet { daemon, _ in
            let key = device.publicKey.x963Representation.base64EncodedString()
            try await daemon.takeOn(passcode: "1234", deviceKey: key)
            try await daemon.leaveAndComeBack()
            func answer(by key: P256.Signing.PrivateKey) async throws -> (fields: String, answer: Answer) {
                let challenge = try await daemon.atGate("passcode/challenge")
                #expect(challenge.status == 201)
                let text = try #require(challenge["challenge"].asString)
                #expect(text.hasPrefix("routerd unlock com.example.gallery tablet "))
                let signature = try key.signature(for: Data(text.utf8)).derRepresentation.base64EncodedString()
                let fields = #""challenge":"\#(text)","signature":"\#(signature)""#
                return (fields, try await daemon.atGate("passcode/answer", fields))
            }
            let (_, wrong) = try await answer(by: P256.Signing.PrivateKey())
            expectProblem(wrong, 403, "invalid-signature")
            #expect(try await daemon.gateState == "locked")
            let (fields, right) = try await answer(by: device)
            #expect(right.status == 200 && right["state"] == "opened", "\(right.text)")
            // A challenge can be answered only once, in this term and in the next.
            expectProblem(try await daemon.atGate("passcode/answer", fields), 409, "wrong-gate-state")
            try await daemon.leaveAndComeBack()
            expectProblem(try await daemon.atGate("passcode/answer", fields), 409, "stale-challenge")
            // Changing the passcode keeps the device key.
            #expect(try await daemon.change("1234", to: "5678").status == 200)
            #expect(try await daemon.passcodeStatus["hasDeviceKey"] == true)
        }
    }

    @Test func theKeyOfTheDeviceIsGivenExchangedAndTakenAway() async throws {
        try await withTablet { daemon, _ in
            func exchange(_ key: String, _ passcode: String = "1234") async throws -> Answer {
                let term = try await daemon.term
                let fields = #""session":"win-1","term":\#(term),"passcode":"\#(passcode)","deviceKey":\#(key)"#
                return try await daemon.call(.put, "\(Tablet.gate)/passcode/key", "{\(fields)}")
            }
            func unlocks(_ device: P256.Signing.PrivateKey) async throws -> Bool {
                try await daemon.leaveAndComeBack()
                let challenge = try await daemon.atGate("passcode/challenge")
                let text = try #require(challenge["challenge"].asString)
                let signature = try device.signature(for: Data(text.utf8)).derRepresentation.base64EncodedString()
                let answer = try await daemon.atGate(
                    "passcode/answer", #""challenge":"\#(text)","signature":"\#(signature)""#)
                if answer.status != 200 { #expect(try await daemon.type("1234").status == 200) }
                return answer.status == 200
            }
            let keys = [P256.Signing.PrivateKey(), P256.Signing.PrivateKey()]
            let texts = keys.map { "\"\($0.publicKey.x963Representation.base64EncodedString())\"" }
            try await daemon.takeOn(passcode: "1234")
            #expect(try await daemon.passcodeStatus["hasDeviceKey"] == false)
            let wrong = try await exchange(texts[0], "4321")
            expectProblem(wrong, 403, "invalid-passcode")
            #expect(wrong["triesRemaining"] == 2)
            #expect(try await exchange(texts[0]).status == 200)
            #expect(try await daemon.passcodeStatus["triesRemaining"] == 3)
            #expect(try await unlocks(keys[0]))
            #expect(try await exchange(texts[1]).status == 200)
            #expect(try await unlocks(keys[1]))
            #expect(try await !unlocks(keys[0]))
            expectProblem(try await exchange(#""AAAA""#), 422, "invalid-device-key")
            let term = try await daemon.term
            expectProblem(
                try await daemon.call(
                    .put, "\(Tablet.gate)/passcode/key", #"{"session":"win-1","term":\#(term),"passcode":"1234"}"#),
                422, "missing-field")
            #expect(try await exchange("null").status == 200)
            try await daemon.leaveAndComeBack()
            expectProblem(try await daemon.atGate("passcode/challenge"), 409, "no-device-key")
            expectProblem(try await exchange(texts[0]), 409, "wrong-gate-state")
        }
    }

    @Test func aPasscodeIsNotChangedIntoItself() async throws {
        try await withTablet { daemon, _ in
            try await daemon.takeOn(passcode: "1234")
            expectProblem(try await daemon.change("1234", to: "1234"), 422, "passcode-unchanged")
            #expect(try await daemon.passcodeStatus["triesRemaining"] == 3)
            #expect(try await daemon.change("1234", to: "5678").status == 200)
        }
    }

    @Test func theTextsOfAPasscodeAreInTheLanguageOfTheClient() async throws {
        try await withTablet { daemon, receiver in
            let prompts = """
                {"de": {"enterPasscode": "Passwort eingeben", "minLength": "Mindestens {minimum} Zeichen",
                        "invalidPasscode": "Falsch", "passcodeUnchanged": "Das alte"},
                 "fr": {"failedToMatch": "Pas le même"}}
                """
            let gates = #""gates":{"passcode":\#(Tablet.policy),"onboarding":{"prompts":\#(prompts)}}"#
            try await daemon.putGallery("{\(gates)}")
            func texts(_ query: String, _ headers: [String: String] = [:]) async throws -> JSONValue {
                try await daemon.call(.get, "\(Tablet.gate)/passcode?device=tablet\(query)", headers: headers)[
                    "prompts"]
            }
            let german = ["accept-language": "fr;q=0.3, de-AT, en;q=0"]
            #expect(try await texts("", german)["enterPasscode"] == "Passwort eingeben")
            #expect(try await texts("", german)["failedToMatch"] == "Pas le même")
            #expect(try await texts("&language=de_AT")["enterPasscode"] == "Passwort eingeben")
            #expect(try await texts("&language=fr", german)["enterPasscode"] == "Enter your passcode.")
            #expect(try await texts("")["title"] == nil, "a text of the welcome screen")
            func post(_ step: String, _ body: String) async throws -> Answer {
                try await daemon.call(.post, "\(Tablet.gate)/\(step)", body, headers: german)
            }
            let check = try await post("passcode/check", #"{"passcode":"12"}"#)
            #expect(check["faults"].asArray?.first?["message"] == "Mindestens 4 Zeichen")
            _ = try await daemon.atGate("open", term: nil)
            let (term, session) = (try await daemon.term, #""session":"win-1""#)
            let short = #"{\#(session),"term":\#(term),"passcode":"12","confirmation":"12"}"#
            #expect(try await post("passcode/create", short)["detail"] == "Mindestens 4 Zeichen")
            let other = #"{\#(session),"term":\#(term),"passcode":"1234","confirmation":"12"}"#
            #expect(try await post("passcode/create", other)["detail"] == "Pas le même")
            let right = #"{\#(session),"term":\#(term),"passcode":"1234","confirmation":"1234"}"#
            #expect(try await post("passcode/create", right).status == 201)
            #expect(try await daemon.atGate("succeed")["state"] == "opened")
            try await daemon.leaveAndComeBack()
            let wrong = #"{\#(session),"term":\#(try await daemon.term),"passcode":"12345"}"#
            #expect(try await post("passcode/input", wrong)["detail"] == "Falsch")
        }
    }

    @Test(
        arguments: [
            ("", []), ("de", ["de"]), ("de-AT, de;q=0.8 ,en; q=0.9", ["de-AT", "en", "de"]), ("*, fr;q=0", []),
            ("a;q=x, b;q=0.5, c;q=0.5", ["b", "c"]), (",;,", []),
        ] as [(String, [String])])
    func languagesAreInTheOrderOfTheirWeights(header: String, expected: [String]) {
        #expect(AcceptedLanguages.tags(in: header) == expected)
        let many = Array(repeating: "x", count: 1000).joined(separator: ",")
        #expect(AcceptedLanguages.tags(in: many).count == 16)
    }

    @Test func whereThereAreNoPasscodesThereIsNothingToAsk() async throws {
        try await withGallery(application: #"{"gates":{"onboarding":{}}}"#) { daemon, receiver in
            try await daemon.putSession(
                "win-1", at: receiver.url(), #""device":"tablet","activationState":"background""#)
            expectProblem(try await daemon.passcodeStatus, 404, "passcodes-off")
            expectProblem(try await daemon.atGate("passcode/input", #""passcode":"x""#, term: 0), 404, "passcodes-off")
        }
    }
}
