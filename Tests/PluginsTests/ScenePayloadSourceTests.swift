import Plugins
import RouterPlugin
import RouterTesting
import Testing

struct ScenePayloadSourceTests {
    private let source = ScenePayloadSource()

    static let taken: [(String, NotificationKind, ContentID?, String)] = [
        (
            #"{"userActivity": {"activityType": "open", "targetContentIdentifier": "doc/1", "webpageURL": "https://a.example"}}"#,
            .userActivity, ContentID(unchecked: "doc/1"),
            #"{"activityType":"open","targetContentIdentifier":"doc/1","webpageURL":"https://a.example"}"#
        ),
        (
            #"{"userActivity": {"activityType": "open", "webpageURL": "https://a.example/42", "userInfo": {"n": 1.50}}}"#,
            .userActivity, ContentID(unchecked: "https://a.example/42"),
            #"{"activityType":"open","webpageURL":"https://a.example/42","userInfo":{"n":1.50}}"#
        ),
        (#"{"userActivity": {"activityType": "open"}}"#, .userActivity, nil, #"{"activityType":"open"}"#),
        (
            #"{"url": "myapp://doc/42", "options": {"sourceApplication": "com.example.b", "openInPlace": true}}"#, .url,
            ContentID(unchecked: "myapp://doc/42"),
            #"{"url":"myapp://doc/42","options":{"sourceApplication":"com.example.b","openInPlace":true}}"#
        ),
        (
            #"{"shortcutItem": {"type": "new", "targetContentIdentifier": "", "localizedTitle": null}}"#, .shortcutItem,
            nil, #"{"type":"new","targetContentIdentifier":"","localizedTitle":null}"#
        ),
    ]

    @Test(arguments: taken)
    func oneOfThree(body: String, kind: NotificationKind, contentID: ContentID?, payload: String) throws {
        let notification = try #require(try source.decode(request(body)).events.first)
        #expect(notification.kind == kind && notification.contentID == contentID)
        #expect(String(decoding: notification.payload, as: UTF8.self) == payload)
    }

    static let refused: [(String, String)] = [
        ("[]", "not-an-object"), ("{}", "missing-field"), (#"{"userActivity": []}"#, "not-an-object"),
        (#"{"userActivity": {}}"#, "missing-field"), (#"{"userActivity": {"activityType": ""}}"#, "missing-field"),
        (#"{"userActivity": {"activityType": 1}}"#, "wrong-type"),
        (#"{"userActivity": {"activityType": "a", "userInfo": 1}}"#, "wrong-type"),
        (#"{"userActivity": {"activityType": "a", "extra": 1}}"#, "unknown-field"),
        (#"{"userActivity": {"activityType": "a"}, "extra": 1}"#, "unknown-field"),
        (#"{"userActivity": {"activityType": "a"}, "url": "a:b"}"#, "unknown-field"),
        (#"{"url": ""}"#, "missing-field"), (#"{"url": "a\u0000b"}"#, "invalid-content-id"),
        (#"{"url": "a:b", "options": {"openInPlace": 1}}"#, "wrong-type"),
        (#"{"url": "a:b", "options": {"other": 1}}"#, "unknown-field"), (#"{"shortcutItem": {}}"#, "missing-field"),
        (#"{"shortcutItem": {"type": "a", "type": "b"}}"#, "json-duplicate-key"),
    ]

    @Test(arguments: refused)
    func badInput(body: String, code: String) {
        #expect(throws: SourceError.self) { try source.decode(request(body)) }
        do { _ = try source.decode(request(body)) } catch { #expect(error.code == code) }
    }

    @Test func theHeadersAreThoseOfNotifications() throws {
        let headers = [("apns-priority", "5"), ("apns-collapse-id", "score"), ("idempotency-key", "k1")]
        let notification = try #require(try source.decode(request(#"{"url": "a:b"}"#, headers)).events.first)
        #expect(notification.priority == .normal && notification.collapseID == "score")
        #expect(notification.dedupeKeys == ["key:k1"])
    }

    @Test(arguments: 1...4)
    func itConforms(seed: UInt64) {
        let examples = Self.taken.map { request($0.0, [("apns-priority", "5"), ("idempotency-key", "k1")]) }
        let found = PayloadSourceSuite.violations(of: source, accepting: examples, keepsBody: false, seed: seed)
        #expect(found == [])
    }
}
