import HTTPTypes
import RouterPlugin
import Testing

@testable import DaemonTesting

/// A call that must be refused, and the expected refusal.
struct BadCall: Sendable, CustomTestStringConvertible {
    var name: String
    var method: HTTPRequest.Method
    var path: String
    var body: [UInt8]?
    var status: Int
    var code: String
    var pointer: String?

    var testDescription: String { name }

    init(
        _ name: String, _ method: HTTPRequest.Method, _ path: String, bytes: [UInt8]?, _ status: Int, _ code: String,
        at pointer: String? = nil
    ) {
        (self.name, self.method, self.path, self.body) = (name, method, path, bytes)
        (self.status, self.code, self.pointer) = (status, code, pointer)
    }

    init(
        _ name: String, _ method: HTTPRequest.Method, _ path: String, _ body: String, _ status: Int, _ code: String,
        at pointer: String? = nil
    ) {
        self.init(name, method, path, bytes: Array(body.utf8), status, code, at: pointer)
    }

    init(_ name: String, _ method: HTTPRequest.Method, _ path: String, _ status: Int, _ code: String) {
        self.init(name, method, path, bytes: nil, status, code)
    }
}

extension BadCall {
    private static let gallery = TestDaemon.gallery
    private static let session = "\(gallery)/sessions/win-1"
    private static let url = "http://127.0.0.1:9/hook"

    /// Bytes that are not a JSON document for any reader.
    private static let documents: [(name: String, bytes: [UInt8], code: String)] = [
        ("nothing", [], "json-unexpected-end"),
        ("half an object", Array(#"{"a":"#.utf8), "json-unexpected-end"),
        ("trailing comma", Array(#"{"a":1,}"#.utf8), "json-trailing-comma"),
        ("two documents", Array("{} {}".utf8), "json-trailing-bytes"),
        ("invalid UTF-8", Array(#"{"a":""#.utf8) + [0xFF, 0xFE] + Array(#""}"#.utf8), "json-invalid-utf-8"),
        ("byte order mark", [0xEF, 0xBB, 0xBF] + Array("{}".utf8), "json-byte-order-mark"),
        ("UTF-16", [0x7B, 0x00, 0x7D, 0x00], "json-not-utf-8"),
        ("lone surrogate", Array(#"{"a":"\ud800"}"#.utf8), "json-lone-surrogate"),
        ("duplicate key", Array(#"{"a":1,"\u0061":2}"#.utf8), "json-duplicate-key"),
        (
            "65 levels",
            Array((String(repeating: #"{"a":"#, count: 65) + "1" + String(repeating: "}", count: 65)).utf8),
            "json-too-deep"
        ),
        ("leading zero", Array(#"{"a":01}"#.utf8), "json-invalid-number"),
        ("raw control character", Array("{\"a\":\"\n\"}".utf8), "json-control-character"),
    ]

    static let malformed: [BadCall] = documents.flatMap { document in
        [
            BadCall("application: \(document.name)", .put, gallery, bytes: document.bytes, 400, document.code),
            BadCall("session: \(document.name)", .put, session, bytes: document.bytes, 400, document.code),
            BadCall("patch: \(document.name)", .patch, session, bytes: document.bytes, 400, document.code),
            BadCall(
                "notification: \(document.name)", .post, "\(gallery)/notifications", bytes: document.bytes, 400,
                document.code),
            BadCall(
                "explain: \(document.name)", .post, "\(gallery)/explain", bytes: document.bytes, 400, document.code),
        ]
    }

    static let notObjects: [BadCall] = ["[]", "null", "1", #""text""#, "true"].flatMap { (text: String) in
        [
            BadCall("application: \(text)", .put, gallery, text, 400, "not-an-object"),
            BadCall("session: \(text)", .put, session, text, 400, "not-an-object"),
            BadCall("patch: \(text)", .patch, session, text, 400, "not-an-object"),
            BadCall("notification: \(text)", .post, "\(gallery)/notifications", text, 400, "payload-not-an-object"),
        ]
    }

    private static let large = Array(#"{"a":""#.utf8) + [UInt8](repeating: 0x61, count: 256 * 1024) + Array(#""}"#.utf8)

    private static let manyBytes = String(repeating: "a", count: 65 * 1024)

    static let sizes: [BadCall] = [
        BadCall("large application", .put, gallery, bytes: large, 413, "body-too-large"),
        BadCall("large session", .put, session, bytes: large, 413, "body-too-large"),
        BadCall("large patch", .patch, session, bytes: large, 413, "body-too-large"),
        BadCall("large notification", .post, "\(gallery)/notifications", bytes: large, 413, "body-too-large"),
        BadCall("large explanation", .post, "\(gallery)/explain", bytes: large, 413, "body-too-large"),
        BadCall(
            "large userInfo", .patch, session,
            #"{"userInfo":{"a":"\#(manyBytes)"}}"#, 422, "user-info-too-large"),
        BadCall(
            "large activity", .put, session,
            #"{"endpoint":{"url":"\#(url)"},"stateRestorationActivity":{"a":"\#(manyBytes)"}}"#,
            422, "user-info-too-large"),
    ]

    private static let long = String(repeating: "a", count: 256)

    static let paths: [BadCall] = [
        BadCall("NUL in application", .put, "/v1/applications/a%00b", "{}", 400, "invalid-application-id"),
        BadCall("invalid UTF-8 in application", .put, "/v1/applications/%ff", "{}", 400, "invalid-application-id"),
        BadCall("long application", .put, "/v1/applications/\(long)", "{}", 400, "invalid-application-id"),
        BadCall("application with a space", .get, "/v1/applications/a%20b", 400, "invalid-application-id"),
        BadCall("application with a slash", .get, "/v1/applications/a%2Fb", 400, "invalid-application-id"),
        BadCall("half an escape", .get, "/v1/applications/a%2", 400, "invalid-application-id"),
        BadCall("no application", .put, "/v1/applications/", "{}", 405, "method-not-allowed"),
        BadCall("empty application", .get, "/v1/applications//sessions", 404, "not-found"),
        BadCall("NUL in session", .get, "\(gallery)/sessions/a%00b", 400, "invalid-session-id"),
        BadCall("invalid UTF-8 in session", .put, "\(gallery)/sessions/%c3%28", "{}", 400, "invalid-session-id"),
        BadCall("long session", .put, "\(gallery)/sessions/\(long)", "{}", 400, "invalid-session-id"),
        BadCall("session with a slash", .put, "\(gallery)/sessions/a%2Fb", "{}", 400, "invalid-session-id"),
        BadCall("session with a tab", .put, "\(gallery)/sessions/a%09b", "{}", 400, "invalid-session-id"),
        BadCall("NUL in notification", .get, "/v1/notifications/%00", 400, "invalid-notification-id"),
        BadCall("long notification", .get, "/v1/notifications/\(long)", 400, "invalid-notification-id"),
        BadCall("unknown path", .get, "/v1/nothing", 404, "not-found"),
        BadCall("unknown below", .get, "\(session)/nothing", 404, "not-found"),
        BadCall("root", .get, "/", 404, "not-found"),
        BadCall("wrong method for applications", .post, "/v1/applications", "{}", 405, "method-not-allowed"),
        BadCall("wrong method for an application", .post, gallery, "{}", 405, "method-not-allowed"),
        BadCall("wrong method for a session", .post, session, "{}", 405, "method-not-allowed"),
        BadCall("wrong method for notifications", .get, "\(gallery)/notifications", 405, "method-not-allowed"),
        BadCall("wrong method for a batch", .put, "\(gallery)/sessions:batch", "", 405, "method-not-allowed"),
        BadCall("wrong method for health", .delete, "/healthz", 405, "method-not-allowed"),
    ]

    static let queries: [BadCall] = [
        BadCall("cursor of applications", .get, "/v1/applications?cursor=%21", 400, "invalid-cursor"),
        BadCall("cursor of sessions", .get, "\(gallery)/sessions?cursor=_w", 400, "invalid-cursor"),
        BadCall("cursor of notifications", .get, "/v1/notifications?cursor=YWJj", 400, "invalid-cursor"),
        BadCall("limit 0", .get, "/v1/applications?limit=0", 400, "invalid-parameter"),
        BadCall("limit 1001", .get, "\(gallery)/sessions?limit=1001", 400, "invalid-parameter"),
        BadCall("limit of letters", .get, "/v1/notifications?limit=ten", 400, "invalid-parameter"),
        BadCall("limit of explanation", .post, "\(gallery)/explain?limit=1001", "{}", 400, "invalid-parameter"),
        BadCall("unknown parameter", .get, "/v1/applications?colour=red", 400, "unknown-parameter"),
        BadCall("unknown parameter of sessions", .get, "\(gallery)/sessions?State=x", 400, "unknown-parameter"),
        BadCall("limit of a notification", .post, "\(gallery)/notifications?limit=1", "{}", 400, "unknown-parameter"),
        BadCall("unknown parameter of explain", .post, "\(gallery)/explain?x=1", "{}", 400, "unknown-parameter"),
        BadCall("unknown parameter of delete", .delete, "\(session)?force=1", 400, "unknown-parameter"),
        BadCall("parameter twice", .get, "/v1/applications?limit=1&limit=2", 400, "repeated-parameter"),
        BadCall("state of sessions", .get, "\(gallery)/sessions?state=asleep", 400, "invalid-parameter"),
        BadCall("state of notifications", .get, "/v1/notifications?state=asleep", 400, "invalid-parameter"),
        BadCall("since", .get, "/v1/notifications?since=yesterday", 400, "invalid-parameter"),
        BadCall("until", .get, "/v1/notifications?until=2026-13-01T00:00:00Z", 400, "invalid-parameter"),
        BadCall("dismissal", .delete, "\(session)?dismissal=maybe", 400, "invalid-parameter"),
        BadCall("empty device", .post, "\(gallery)/notifications?device=", "{}", 400, "invalid-device-id"),
        BadCall("NUL in device", .post, "\(gallery)/notifications?device=a%00", "{}", 400, "invalid-device-id"),
        BadCall(
            "invalid UTF-8 in device", .post, "\(gallery)/notifications?device=%ff", "{}", 400, "invalid-parameter"),
        BadCall("long device", .post, "\(gallery)/notifications?device=\(long)", "{}", 400, "invalid-device-id"),
        BadCall("NUL in content", .get, "/v1/notifications?contentId=%00", 400, "invalid-content-id"),
    ]

    static let contentIDs: [BadCall] = [
        BadCall(
            "NUL in a content id", .post, "\(gallery)/notifications", #"{"notification-content-id":"a\u0000b"}"#, 400,
            "invalid-content-id"),
        BadCall(
            "long content id", .post, "\(gallery)/notifications",
            #"{"notification-content-id":"\#(String(repeating: "a", count: 4097))"}"#, 400, "invalid-content-id"),
        BadCall(
            "number as content id", .post, "\(gallery)/notifications", #"{"aps":{"target-content-id":1}}"#, 400,
            "content-id-not-a-string"),
        BadCall(
            "number behind a good one", .post, "\(gallery)/notifications",
            #"{"notification-content-id":"a","aps":{"target-content-id":1}}"#, 400, "content-id-not-a-string"),
    ]
}
