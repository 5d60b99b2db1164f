import RouterPlugin
import RouterTesting
import Synchronization
import Testing

/// A suite that finds nothing proves nothing: each of these plugins is broken in one way, and the suite must say so.
struct RoutingRuleSuiteTests {
    private struct Rule: RoutingRule {
        var id = PluginID(unchecked: "com.example.rule")
        var looksAhead = false
        let answer: @Sendable (Candidate, NotificationView, Timestamp) -> RoutingVerdict

        func verdict(on candidate: Candidate, for notification: NotificationView, at now: Timestamp) -> RoutingVerdict {
            answer(candidate, notification, now)
        }
    }

    private func violations(
        id: String = "com.example.rule", looksAhead: Bool = false,
        answer: @escaping @Sendable (Candidate, NotificationView, Timestamp) -> RoutingVerdict
    ) -> [String] {
        let rule = Rule(id: PluginID(unchecked: id), looksAhead: looksAhead, answer: answer)
        return RoutingRuleSuite.violations(of: rule, seed: 7)
    }

    @Test func soundRulesConform() {
        #expect(violations { _, _, _ in .accept } == [])
        #expect(violations(looksAhead: true) { _, _, _ in .prefer(reason: "liked") } == [])
        #expect(violations { candidate, _, _ in .redirect(to: candidate.session, reason: "é") } == [])
        #expect(violations { _, _, _ in .drop(reason: String(repeating: "x", count: 200)) } == [])
    }

    @Test(arguments: ["", "rule", "com..rule", ".rule", "com.example.rule ", "com/example.rule"])
    func aBadNameIsFound(id: String) {
        #expect(violations(id: id) { _, _, _ in .accept }.contains { $0.hasPrefix("id: ") })
    }

    @Test func reasonsAreChecked() {
        #expect(violations { _, _, _ in .veto(reason: "") } == ["veto: the reason is empty"])
        #expect(violations { _, _, _ in .drop(reason: "a\nb") } == ["drop: the reason has control characters"])
        let long = String(repeating: "x", count: 201)
        #expect(violations { _, _, _ in .veto(reason: long) } == ["veto: the reason is longer than 200 bytes"])
        // Quoting what others have chosen is how reasons become long or odd by accident.
        #expect(!violations { candidate, _, _ in .veto(reason: "role \(candidate.role)") }.isEmpty)
    }

    @Test func holdLooksAhead() {
        #expect(violations { _, _, now in .hold(until: now, reason: "x") } == ["hold: the time is not later than now"])
        #expect(!violations { _, _, now in .hold(until: now.advanced(byMilliseconds: 1), reason: "x") }.isEmpty)
    }

    @Test func preferIsAnnounced() {
        let found = violations { _, _, _ in .prefer(reason: "x") }
        #expect(found == ["prefer: answered by a rule that does not look ahead"])
    }

    @Test func aRedirectNamesASession() {
        let found = violations { _, _, _ in .redirect(to: SessionID(unchecked: "a/b"), reason: "x") }
        #expect(found == ["redirect: the session id is not well-formed"])
    }

    private final class Memory: Sendable {
        let calls = Mutex(0)
        let last = Mutex(Timestamp(milliseconds: 0))
    }

    @Test func memoryIsFound() {
        let memory = Memory()
        let counting = violations { _, _, _ in
            memory.calls.withLock {
                $0 += 1; return $0 % 100 == 0
            } ? .veto(reason: "hundredth") : .accept
        }
        #expect(counting.contains { $0.hasPrefix("determinism: ") })
        // Asked twice in a row it answers alike; only another order shows it.
        let limiting = violations { _, _, now in
            memory.last.withLock { last in
                defer { last = now }
                return now < last ? .veto(reason: "earlier") : .accept
            }
        }
        #expect(limiting.contains("determinism: the verdict depends on earlier questions"))
    }
}

struct PayloadSourceSuiteTests {
    private struct Source: PayloadSource {
        var id = PluginID(unchecked: "com.example.source")
        var methods = ["POST"]
        var consent: @Sendable (SourceRequest) -> SourceResponse? = { _ in nil }
        let answer: @Sendable (SourceRequest) -> Result<[SourceEvent], SourceError>

        func handshake(_ request: SourceRequest) -> SourceResponse? { consent(request) }

        func verify(_ request: SourceRequest, with secrets: [SourceSecret]) throws(SourceError) {}

        func decode(_ request: SourceRequest) throws(SourceError) -> SourceDecoding {
            SourceDecoding(try answer(request).get())
        }
    }

    private func violations(
        id: String = "com.example.source", keepsBody: Bool = true, secrets: [String] = [],
        answer: @escaping @Sendable (SourceRequest) -> Result<[SourceEvent], SourceError>
    ) -> [String] {
        let source = Source(id: PluginID(unchecked: id), answer: answer)
        let example = request(#"{"a":"b"}"#, [("x-kind", "test")])
        return PayloadSourceSuite.violations(
            of: source, accepting: [example], keepsBody: keepsBody, secrets: secrets, seed: 7
        )
    }

    private static func plain(_ request: SourceRequest) -> SourceEvent {
        SourceEvent(payload: request.body)
    }

    /// Takes what begins with a brace and refuses everything else with that error.
    private func refusing(
        _ error: @escaping @Sendable (SourceRequest) -> SourceError, secrets: [String] = []
    ) -> [String] {
        violations(secrets: secrets) {
            $0.body.starts(with: Array(#"{"a":"b"}"#.utf8)) ? .success([Self.plain($0)]) : .failure(error($0))
        }
    }

    @Test func soundSourcesConform() {
        #expect(violations { .success([Self.plain($0), Self.plain($0)]) } == [])
        #expect(refusing { SourceError(code: "bad-2-x", message: "No.", offset: $0.body.count) } == [])
        #expect(
            violations(keepsBody: false) { _ in .success([SourceEvent(payload: [])]) } == [])
    }

    @Test func aBadNameIsFound() {
        #expect(violations(id: "source") { .success([Self.plain($0)]) }.contains { $0.hasPrefix("id: ") })
    }

    @Test func examplesMustBeTaken() {
        let found = violations { _ in .failure(SourceError(code: "never", message: "Never.")) }
        #expect(found == ["examples: number 0 is refused with never"])
        let source = Source { .success([Self.plain($0)]) }
        #expect(
            PayloadSourceSuite.violations(of: source, accepting: [], seed: 1).first?.hasPrefix("examples: ") == true)
    }

    @Test func aChangedPayloadIsFound() {
        let found = violations { .success([SourceEvent(payload: $0.body + [0x0A])]) }
        #expect(found == ["payload: is not the body byte for byte"])
        // Through a string and back: only bad UTF-8 shows it.
        let lossy = violations { request in
            let text = String(decoding: request.body, as: UTF8.self)
            return .success([SourceEvent(payload: Array(text.utf8))])
        }
        #expect(lossy == ["payload: is not the body byte for byte"])
    }

    @Test func badNotificationsAreFound() {
        #expect(
            violations { _ in .success([]) } == [
                "events: a request was taken, but carries none and has no answer of its own"
            ])
        let unchecked = violations { request in
            var notification = Self.plain(request)
            notification.contentID = ContentID(unchecked: String(decoding: request.body, as: UTF8.self))
            return .success([notification])
        }
        #expect(unchecked == ["contentID: is not a well-formed content id"])
        let keyed = violations { request in
            var notification = Self.plain(request)
            notification.dedupeKeys = [request.headers.first?.value ?? "none"]
            return .success([notification])
        }
        #expect(
            Set(keyed) == [
                "keys: a dedupe key or collapse id is empty", "keys: one is longer than 512 bytes",
                "keys: one has control characters",
            ]
        )
    }

    @Test func badErrorsAreFound() {
        let spaced = refusing { _ in SourceError(code: "Bad Code", message: "x") }
        #expect(spaced == ["errors: the code Bad Code is not in kebab-case"])
        #expect(refusing { _ in SourceError(code: "a--b", message: "x") }.count == 1)
        #expect(refusing { _ in SourceError(code: "bad", message: "") } == ["errors: the message of bad is empty"])
        #expect(refusing { _ in SourceError(code: "bad", message: "a\nb") }.count == 1)
        let long = String(repeating: "x", count: 501)
        #expect(refusing { _ in SourceError(code: "bad", message: long) } == ["errors: the message of bad is too long"])
        let outside = refusing { SourceError(code: "bad", message: "x", offset: $0.body.count + 1) }
        #expect(outside == ["errors: the offset of bad is outside of the body"])
        #expect(!refusing { _ in SourceError(code: "bad", message: "x", offset: -1) }.isEmpty)
    }

    @Test func quotedRequestsAndSecretsAreFound() {
        let quoting = refusing {
            SourceError(code: "bad", message: "Cannot read " + String(decoding: $0.body.prefix(60), as: UTF8.self))
        }
        #expect(quoting.contains("errors: the message of bad quotes the request or a secret"))
        let telling = refusing({ _ in SourceError(code: "bad", message: "The key is hunter2.") }, secrets: ["hunter2"])
        #expect(telling == ["errors: the message of bad quotes the request or a secret"])
    }

    @Test func badHandshakesAreFound() {
        func violations(_ consent: @escaping @Sendable (SourceRequest) -> SourceResponse?) -> [String] {
            let source = Source(methods: ["POST", "OPTIONS"], consent: consent) { .success([Self.plain($0)]) }
            return PayloadSourceSuite.violations(of: source, accepting: [request("{}", [("x-kind", "test")])], seed: 7)
        }
        #expect(violations { $0.method == "OPTIONS" ? SourceResponse(status: 200) : nil } == [])
        let answering = violations { _ in SourceResponse(status: 200) }
        #expect(answering == ["handshake: example 0 is answered as a handshake, and its events are lost"])
        let strange = violations { request in
            guard request.method == "OPTIONS" else { return nil }
            let value = request.headers.first?.value ?? ""
            return SourceResponse(status: 0, headers: [.init("X-Kind", value)])
        }
        #expect(
            Set(strange) == [
                "handshake: the status is none of HTTP's",
                "handshake: the name of a header is empty or not in lower case",
                "handshake: a header has control characters",
            ])
        final class Counter: Sendable { let calls = Mutex(0) }
        let counter = Counter()
        let counting = violations { request in
            guard request.method == "OPTIONS" else { return nil }
            return SourceResponse(
                status: 200 + counter.calls.withLock {
                    $0 += 1; return $0
                } % 2)
        }
        #expect(counting == ["determinism: the same handshake is answered differently"])
    }

    @Test func memoryIsFound() {
        final class Counter: Sendable { let calls = Mutex(0) }
        let counter = Counter()
        let found = violations { request in
            var notification = Self.plain(request)
            notification.collapseID = "\(counter.calls.withLock { $0 += 1; return $0 })"
            return .success([notification])
        }
        #expect(found == ["determinism: the same request is answered differently"])
    }
}

struct SeededGeneratorTests {
    /// The first numbers of the reference implementation for the seed 1234567.
    @Test func theNumbersAreThoseOfSplitMix64() {
        var generator = SeededGenerator(seed: 1_234_567)
        #expect(generator.next() == 6_457_827_717_110_365_317)
        #expect(generator.next() == 3_203_168_211_198_807_973)
        #expect(generator.next() == 9_817_491_932_198_370_423)
    }

    @Test func sameSeedSameBytes() {
        var (one, two, other) = (SeededGenerator(seed: 5), SeededGenerator(seed: 5), SeededGenerator(seed: 6))
        #expect(one.bytes(count: 100) == two.bytes(count: 100))
        #expect(one.bytes(count: 100) != other.bytes(count: 100))
    }
}
