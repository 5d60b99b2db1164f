import Testing

@testable import RouterPlugin

@Suite("RuleProtocol")
struct RuleProtocolTests {
    private let plugin = PluginID(unchecked: "com.example.rule.x")

    private func read(_ text: String) throws(RuleFailure) -> RuleProtocol.Incoming {
        try RuleProtocol.read(Array(text.utf8), from: plugin)
    }

    @Test func readyHasAVersion() throws {
        let text = #"{"type":"ready","protocol":1,"kind":"rule","plugin":"com.example.rule.x","version":"1.2.0"}"#
        #expect(try read(text) == .ready(version: "1.2.0"))
    }

    @Test func everyVerdictIsRead() throws {
        let text = """
            {"type":"verdicts","id":7,"verdicts":[{"session":"a","verdict":"accept"},
            {"session":"b","verdict":"prefer","reason":"p"},{"session":"c","verdict":"veto","reason":"v"},
            {"session":"d","verdict":"redirect","to":"a","reason":"r"},
            {"session":"e","verdict":"hold","until":"1970-01-01T00:00:00.005Z","reason":"h"},{"session":"f","verdict":"drop","reason":"d"}]}
            """
        let wanted: [SessionID: RoutingVerdict] = [
            SessionID(unchecked: "a"): .accept, SessionID(unchecked: "b"): .prefer(reason: "p"),
            SessionID(unchecked: "c"): .veto(reason: "v"),
            SessionID(unchecked: "d"): .redirect(to: SessionID(unchecked: "a"), reason: "r"),
            SessionID(unchecked: "e"): .hold(until: Timestamp(milliseconds: 5), reason: "h"),
            SessionID(unchecked: "f"): .drop(reason: "d"),
        ]
        #expect(try read(text) == .verdicts(id: 7, wanted))
    }

    @Test(arguments: [
        ("", RuleFault.malformed), ("[]", .malformed), (#"{"type":"other"}"#, .malformed),
        (#"{"type":"ready","protocol":2,"kind":"rule","version":"1.0.0"}"#, .wrongProtocol),
        (#"{"type":"ready","protocol":1,"kind":"source","version":"1.0.0"}"#, .wrongPlugin),
        (#"{"type":"ready","protocol":1,"kind":"rule","plugin":"a.b.c","version":"1.0.0"}"#, .wrongPlugin),
        (#"{"type":"ready","kind":"rule","version":"1.0.0"}"#, .wrongProtocol),
        (#"{"type":"ready","protocol":1,"version":"1.0.0"}"#, .wrongPlugin),
        (#"{"type":"verdicts","id":1,"verdicts":[],"protocol":2}"#, .wrongProtocol),
        (#"{"type":"verdicts","id":1,"verdicts":[],"kind":"source"}"#, .wrongPlugin),
        (#"{"type":"verdicts","id":1,"verdicts":[],"plugin":"a.b.c"}"#, .wrongPlugin),
        (#"{"type":"verdicts","id":1}"#, .malformed),
        (#"{"type":"verdicts","id":1,"verdicts":[],"verdict":"veto"}"#, .malformed),
        (#"{"type":"ready","protocol":1,"kind":"rule","version":"1.0.0","versoin":"1"}"#, .malformed),
        (#"{"type":"verdicts","id":1,"verdicts":[{"session":"a","verdict":"accept","resaon":"x"}]}"#, .malformed),
        (#"{"type":"verdicts","id":1,"verdicts":[{"session":"a","verdict":"veto"}]}"#, .malformed),
        (#"{"type":"verdicts","id":1,"verdicts":[{"session":"a","verdict":"maybe","reason":"x"}]}"#, .malformed),
        (#"{"type":"verdicts","id":1,"verdicts":[{"session":"a","verdict":"veto","reason":"a\nb"}]}"#, .malformed),
        (#"{"type":"verdicts","id":1,"verdicts":[{"session":"a","verdict":"veto","reason":"a\u009Bb"}]}"#, .malformed),
        (
            #"{"type":"verdicts","id":1,"verdicts":[{"session":"a","verdict":"veto","reason":"no answer: late"}]}"#,
            .malformed
        ),
        (#"{"type":"ready","protocol":1,"kind":"rule","version":""}"#, .malformed),
        (#"{"type":"ready","protocol":1,"kind":"rule","version":"1\u001b[2J"}"#, .malformed),
        (
            #"{"type":"verdicts","id":1,"verdicts":[{"session":"a","verdict":"accept"},{"session":"a","verdict":"accept"}]}"#,
            .malformed
        ),
        (
            #"{"type":"verdicts","id":1,"verdicts":[{"session":"a","verdict":"hold","until":"soon","reason":"x"}]}"#,
            .malformed
        ),
        (#"{"a":"# + String(repeating: "[", count: 9) + String(repeating: "]", count: 9) + "}", .malformed),
        (String(repeating: " ", count: RuleProtocol.answerBytes + 1), .tooLarge),
    ])
    func aBadMessageIsAFault(text: String, fault: RuleFault) {
        #expect(#expect(throws: RuleFailure.self) { try read(text) }?.fault == fault)
    }

    @Test(arguments: [
        ("{", "the message is no JSON"), (#"{"type":"other"}"#, "type: "),
        (#"{"type":"verdicts","id":"1","verdicts":[]}"#, "id: "),
        (#"{"type":"verdicts","id":1,"verdicts":{}}"#, "verdicts: "),
        (#"{"type":"verdicts","id":1,"verdicts":[],"verdict":"veto"}"#, "verdict: there is no such member"),
        (#"{"type":"verdicts","id":1,"verdicts":[{"verdict":"accept"}]}"#, "verdicts[0].session: "),
        (#"{"session":"a","verdict":"maybe","reason":"x"}"#, "verdicts[1].verdict: "),
        (#"{"session":"a","verdict":"veto"}"#, "verdicts[1].reason: "),
        (#"{"session":"a","verdict":"accept","resaon":"x"}"#, "verdicts[1].resaon: there is no such member"),
        (#"{"session":"a","verdict":"redirect","reason":"x"}"#, "verdicts[1].to: "),
        (#"{"session":"a","verdict":"hold","until":"soon","reason":"x"}"#, "verdicts[1].until: "),
        (#"{"session":"b","verdict":"accept"}"#, "verdicts[1].session: b has two verdicts"),
    ])
    func theCauseNamesTheMember(text: String, beginning: String) {
        let isVerdict = text.hasPrefix(#"{"session""#)
        let list = #"{"type":"verdicts","id":1,"verdicts":[{"session":"b","verdict":"accept"},"# + text + "]}"
        let failure = #expect(throws: RuleFailure.self) { try read(isVerdict ? list : text) }
        #expect(
            failure?.fault == .malformed && failure?.cause?.hasPrefix(beginning) == true,
            "\(String(describing: failure))")
    }

    @Test func framesAreTakenHoweverTheyAreCut() throws {
        let messages = [[UInt8]("one".utf8), [], Array(repeating: 7, count: 300)]
        let stream = messages.flatMap { RuleProtocol.framed($0) }
        for size in [1, 2, 3, 5, 100, stream.count] {
            var reader = FrameReader(limit: 300)
            var found: [[UInt8]] = []
            for start in stride(from: 0, to: stream.count, by: size) {
                found += try reader.take(stream[start..<min(stream.count, start + size)])
            }
            #expect(found == messages)
        }
    }

    @Test func aFrameBeyondTheLimitIsRefusedByItsLength() {
        var reader = FrameReader(limit: 10)
        #expect(throws: RuleFault.tooLarge) { try reader.take([0, 0, 0, 11]) }
    }

    @Test(arguments: [("hello", "hell"), ("a\n\tb", "a  b"), ("\u{7f}abc", nil), ("caf\u{e9}", nil)])
    func aTextInThePlaceOfALengthIsKept(text: String, kept: String?) {
        var reader = FrameReader(limit: 10)
        #expect(throws: RuleFault.tooLarge) { try reader.take(text.utf8) }
        #expect(reader.textInPlaceOfLength == kept)
    }

    @Test func aPayloadThatIsNoJSONIsSentInBase64() throws {
        let view = NotificationView(
            application: ApplicationID(unchecked: "a.b"), device: nil, contentID: nil, priority: .high, payload: [0xFF])
        let question = RuleProtocol.question(1, view, [], at: Timestamp(milliseconds: 0))
        let message = try JSONValue(parsing: question)
        #expect(message["notification"]?["payloadBase64"] == "/w==")
        #expect(message["notification"]?["payload"] == nil)
    }

    // MARK: - The rule as a value

    private func verdict(_ answer: RuleAnswer?, failure: RemoteRule.Failure) -> RoutingVerdict {
        let rule = RemoteRule(id: plugin, transport: .callOut(CallOutSettings(url: "http://a")), failure: failure)
        let view = NotificationView(
            NotificationView(
                application: ApplicationID(unchecked: "a.b"), device: nil, contentID: nil, priority: .high,
                payload: []),
            answers: answer.map { RuleAnswers([plugin: $0]) })
        let candidate = Candidate(
            session: SessionID(unchecked: "a"), device: nil, role: "r", configuration: "c",
            activationState: .background,
            lastActivatedAt: nil, preferenceLevel: 0, tier: .can)
        return rule.verdict(on: candidate, for: view, at: Timestamp(milliseconds: 0))
    }

    @Test func aMissingAnswerHasTheConfiguredConsequence() {
        let named = RuleAnswer.verdicts([SessionID(unchecked: "a"): .drop(reason: "d")])
        let other = RuleAnswer.verdicts([SessionID(unchecked: "b"): .drop(reason: "d")])
        #expect(verdict(named, failure: .open) == .drop(reason: "d"))
        #expect(verdict(other, failure: .open) == .accept)
        #expect(verdict(.fault(.late), failure: .open) == .accept)
        #expect(verdict(nil, failure: .open) == .accept)
        #expect(verdict(.fault(.late), failure: .closed) == .veto(reason: "no answer: late"))
        #expect(verdict(nil, failure: .closed) == .veto(reason: "no answer: not asked"))
        #expect(verdict(.kept([:], others: .accept), failure: .closed) == .accept)
    }

    @Test func configurationsAreRead() throws {
        let object: JSONValue = [
            "id": "routerd.rule.process", "plugin": "com.example.rule.x", "command": ["/bin/cat"], "workers": 2,
            "failure": "closed", "timeoutMilliseconds": 50, "network": true, "settings": ["a": 1],
        ]
        let rule = try #require(try RemoteRule.process.make(object) as? RemoteRule)
        #expect(rule.id == plugin && rule.failure == .closed && rule.timeoutMilliseconds == 50)
        guard case .process(let process) = rule.transport else { return #expect(Bool(false)) }
        #expect(process.command == ["/bin/cat"] && process.workers == 2 && process.network)
        #expect(throws: PluginConfigurationError.self) { try RemoteRule.process.make(["plugin": "com.example.rule.x"]) }
        #expect(throws: PluginConfigurationError.self) {
            try RemoteRule.callOut.make(["plugin": "com.example.rule.x", "url": "ftp://x"])
        }
    }
}
