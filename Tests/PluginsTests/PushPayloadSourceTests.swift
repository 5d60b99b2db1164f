import Plugins
import RouterPlugin
import RouterTesting
import Testing

struct PushPayloadSourceTests {
    private let source = PushPayloadSource()

    private func decode(_ request: SourceRequest) throws -> SourceEvent {
        let notifications = try source.decode(request).events
        try #require(notifications.count == 1)
        return notifications[0]
    }

    private func refusal(_ request: SourceRequest) -> SourceError? {
        do {
            _ = try source.decode(request)
            return nil
        } catch {
            return error
        }
    }

    // MARK: Payloads

    private static let contentIDs: [String: String?] = [
        "alert-dictionary": "game://12345678",
        "alert-string": "chat://room/bob",
        "background": "sync://feed/2026-01-02",
        "badge-sound": "mail://inbox",
        "both-ids": "first://choice",
        "critical-sound": "home://kitchen/smoke",
        "empty-id": nil,
        "live-activity": "ride://77",
        "localized": "game://invite/Shelly%20%26%20Rick",
        "mutable": "chat://thread/42",
        "no-id": nil,
        "numbers": "data://numbers",
        "odd-spacing": "spaced://out",
        "relevance-filter": "digest://work",
        "unicode-id": "myapp://caf\u{E9}/日本語/e\u{301}",
    ]

    @Test func payloadsAsAppleDocumentsThem() throws {
        let names = try Fixtures.names(in: "apns")
        #expect(Set(names) == Set(Self.contentIDs.keys.map { "\($0).json" } + ["duplicate-key.json"]))
        for (name, contentID) in Self.contentIDs {
            let body = try Fixtures.bytes("apns/\(name).json")
            let notification = try decode(request(body))
            #expect(notification.contentID.map { Array($0.text.utf8) } == contentID.map { Array($0.utf8) }, "\(name)")
            #expect(notification == SourceEvent(contentID: notification.contentID, payload: body), "\(name)")
        }
        let refusal = refusal(request(try Fixtures.bytes("apns/duplicate-key.json")))
        #expect(refusal?.code == "json-duplicate-key")
        #expect(refusal?.offset == 63)
    }

    @Test func payloadsOfGitHub() throws {
        let names = try Fixtures.names(in: "github")
        #expect(names.count == 46)
        for name in names {
            let body = try Fixtures.bytes("github/\(name)")
            #expect(try decode(request(body)) == SourceEvent(payload: body), "\(name)")
        }
    }

    @Test(arguments: [
        (#"{"notification-content-id":"a","aps":{"target-content-id":"b","notification-content-id":"c"}}"#, "a"),
        (#"{"aps":{"notification-content-id":"c","target-content-id":"b"}}"#, "b"),
        (#"{"aps":{"notification-content-id":"c","target-content-id":""},"notification-content-id":""}"#, "c"),
        (#"{"aps":{"target-content-id":""}}"#, "h"),
        (#"{"aps":"x","target-content-id":"not here"}"#, "h"),
        (#"{"notification-content-id":"\u0061"}"#, "a"),
    ])
    func theFirstContentIDThatIsNotEmptyCounts(body: String, contentID: String) throws {
        let request = request(body, [("target-content-id", "h")])
        #expect(try decode(request).contentID?.text == contentID)
    }

    @Test func withoutContentIDItIsAboutNothing() throws {
        #expect(try decode(request("{}")).contentID == nil)
        #expect(
            try decode(request(#"{"notification-content-id":null,"aps":{"target-content-id":null}}"#)).contentID == nil)
        #expect(try decode(request(#"{"notification-content-id":""}"#, [("target-content-id", "")])).contentID == nil)
    }

    @Test(
        arguments: [
            ("", "json-unexpected-end", 0),
            ("[]", "payload-not-an-object", nil),
            ("\"x\"", "payload-not-an-object", nil),
            ("{\"a\":1,}", "json-trailing-comma", 6),
            (#"{"notification-content-id":7}"#, "content-id-not-a-string", 27),
            (#"{"notification-content-id":"x","aps":{"target-content-id":{}}}"#, "content-id-not-a-string", 58),
            (#"{"aps":{"notification-content-id":[]}}"#, "content-id-not-a-string", 34),
            (#"{"notification-content-id":"a\u0000"}"#, "invalid-content-id", 28),
            (#"{"notification-content-id":"\#(String(repeating: "x", count: 4097))"}"#, "invalid-content-id", 28),
        ] as [(String, String, Int?)])
    func otherPayloadsAreRefused(body: String, code: String, offset: Int?) {
        let refusal = refusal(request(body))
        #expect(refusal?.code == code)
        #expect(refusal?.offset == offset)
    }

    @Test func aBodyIsAsLargeAsTheLimitsSay() throws {
        let small = PushPayloadSource(limits: JSONLimits(maximumBytes: 2))
        #expect(try small.decode(request("{}")).events.count == 1)
        #expect(throws: SourceError.self) { try small.decode(request("{ }")) }
    }

    // MARK: Headers

    private func decode(_ name: String, _ value: String) throws -> SourceEvent {
        try decode(request("{}", [(name, value)]))
    }

    @Test func headersSayHowToDeliver() throws {
        let notification = try decode(
            request(
                "{}",
                [
                    ("apns-id", "123E4567-e89b-12d3-a456-4266554400A0"), ("apns-expiration", "1767268860"),
                    ("apns-priority", "5"), ("apns-collapse-id", "score"), ("idempotency-key", "k 1"),
                    ("apns-topic", "com.example.Gallery"), ("apns-push-type", "alert"),
                ])
        )
        #expect(notification.dedupeKeys == ["apns-id:123e4567-e89b-12d3-a456-4266554400a0", "key:k 1"])
        #expect(notification.expiration == .at(noon.advanced(byMilliseconds: 60_000)))
        #expect(notification.priority == .normal)
        #expect(notification.collapseID == "score")
    }

    @Test func headersMayBeLeftOut() throws {
        let notification = try decode(request("{}"))
        #expect(notification.dedupeKeys == [])
        #expect(notification.expiration == nil)
        #expect(notification.priority == nil)
        #expect(notification.collapseID == nil)
    }

    /// Bytes that are no text reach the source as U+FFFD; in a payload it is a character like any other.
    @Test(arguments: ["target-content-id", "apns-collapse-id", "apns-id", "apns-topic", "idempotency-key"])
    func aHeaderThatIsNoUTF8IsRefused(name: String) throws {
        for text in ["\u{FFFD}", "a\u{FFFD}\u{FFFD}"] {
            let error = #expect(throws: SourceError.self) { try decode(name, text) }
            #expect(error?.code == "header-not-utf8")
        }
    }

    @Test func everyValueInItsRangeIsTaken() throws {
        #expect(try decode("apns-priority", "1").priority == .low)
        #expect(try decode("apns-priority", "10").priority == .high)
        #expect(try decode("apns-expiration", "0").expiration == .immediate)
        // A time that has passed is one attempt, as APNs has it.
        for time in ["1", "300", "1767268800"] { #expect(try decode("apns-expiration", time).expiration == .immediate) }
        #expect(try decode("apns-expiration", "1767268801").expiration == .at(noon.advanced(byMilliseconds: 1000)))
        let longest = String(repeating: "é", count: 32)
        #expect(try decode("apns-collapse-id", longest).collapseID == longest)
        let key = String(repeating: "~", count: 255)
        #expect(try decode("idempotency-key", key).dedupeKeys == ["key:\(key)"])
    }

    @Test(
        arguments: [
            ("apns-priority", ["", "0", "2", "05", "10 ", "+5", "high"], "bad-priority"),
            (
                "apns-expiration",
                ["", "-1", "+1", "1.5", "1e3", " 1", "٣", "9223372036854775807", "99999999999999999999"],
                "bad-expiration-date"
            ),
            (
                "apns-collapse-id", ["", String(repeating: "x", count: 65), "a\u{0}", "a\u{7F}"],
                "bad-collapse-id"
            ),
            (
                "apns-id",
                [
                    "", "1", "123e4567e89b12d3a456426655440000", "123e4567-e89b-12d3-a456-42665544000g",
                    "123e4567-e89b-12d3-a456-4266554400001", "{123e4567-e89b-12d3-a456-426655440000}",
                    "123e4567-e89b-12d3-a456426655440000-", "123e4567-e89b-12d3-a4-6426655440000",
                ], "bad-message-id"
            ),
            (
                "idempotency-key", ["", String(repeating: "x", count: 256), "a\tb", "é", "\u{7F}"],
                "bad-idempotency-key"
            ),
            ("target-content-id", ["a\u{0}", String(repeating: "x", count: 4097)], "invalid-content-id"),
        ] as [(String, [String], String)])
    func everyOtherValueIsRefused(name: String, values: [String], code: String) {
        for value in values { #expect(refusal(request("{}", [(name, value)]))?.code == code, "\(name): \(value)") }
    }

    @Test(arguments: [
        "apns-id", "apns-expiration", "apns-priority", "apns-collapse-id", "apns-topic", "apns-push-type",
        "apns-unknown",
        "idempotency-key", "target-content-id",
    ])
    func aHeaderTwiceIsRefused(name: String) {
        #expect(refusal(request("{}", [(name, "5"), ("x", "y"), (name, "5")]))?.code == "duplicate-header")
    }

    @Test func otherHeadersMayRepeat() throws {
        #expect(try decode(request("{}", [("x", "1"), ("x", "2")])).dedupeKeys == [])
    }

    // MARK: Conformance

    @Test(arguments: [1, 2] as [UInt64])
    func itConforms(seed: UInt64) throws {
        let headers = [
            ("apns-id", "123e4567-e89b-12d3-a456-426655440000"), ("apns-expiration", "1767268800"),
            ("apns-priority", "5"),
            ("apns-collapse-id", "score"), ("idempotency-key", "k1"), ("target-content-id", "x"),
        ]
        let examples = try ["alert-dictionary", "unicode-id", "no-id"].map {
            request(try Fixtures.bytes("apns/\($0).json"), headers)
        }
        #expect(PayloadSourceSuite.violations(of: source, accepting: examples, seed: seed) == [])
    }
}
