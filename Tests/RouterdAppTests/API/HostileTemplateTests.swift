import Foundation
import HTTPTypes
import Router
import RouterPlugin
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// Values of requests that a source's templates use, and templates that are hard to store.
@Suite("Hostile values in templates")
struct HostileTemplateTests {
    private static func source(_ fields: String) -> String {
        #"{"kind":"bearer","application":"com.example.gallery","secrets":["s3cret"],\#(fields)}"#
    }

    private static func text(_ value: String) -> String {
        String(decoding: JSONValue.string(value).serialized(), as: UTF8.self)
    }

    private static func withSource(
        _ fields: String, _ options: TestDaemon.Options = .init(), _ test: @Sendable (TestDaemon) async throws -> Void
    ) async throws {
        try await withDaemon(options) { daemon in
            try await daemon.putGallery(#"{"manifest":{"supportsMultipleScenes":false}}"#)
            let made = try await daemon.call(.put, "/v1/sources/hooks", source(fields))
            #expect(made.status == 201, "\(made.text)")
            try await test(daemon)
        }
    }

    private static func post(_ body: String, _ query: String = "", to daemon: TestDaemon) async throws -> Answer {
        try await daemon.call(
            .post, "/v1/sources/hooks\(query)", body, headers: ["authorization": "Bearer s3cret"])
    }

    private static let contents: [(value: String, contentID: String?)] = [
        ("a\u{0}b", "doc/a%00b"), ("a\r\nb", "doc/a%0D%0Ab"), ("\u{85}", "doc/%C2%85"), ("\u{202E}", "doc/%E2%80%AE"),
        ("%00", "doc/%2500"), ("a/../b", nil), ("..", nil), (".", nil), ("a/..", nil), ("...", "doc/..."),
        ("../", "doc/..%2F"), ("/..", "doc/%2F.."), ("?/../x", nil), ("\u{FFFD}", "doc/%EF%BF%BD"),
        (String(repeating: "a", count: 4092), "doc/" + String(repeating: "a", count: 4092)),
        (String(repeating: "a", count: 4093), nil), (String(repeating: "\u{1}", count: 1365), nil), ("", nil),
    ]

    @Test func contentIDsHaveNoControlCharactersDotSegmentsOrExcess() async throws {
        try await Self.withSource(#""contentId":"doc/{a}","onMissing":"refuse""#) { daemon in
            var count = 0
            for row in Self.contents {
                let shown = row.value.prefix(20).debugDescription
                let answer = try await Self.post(#"{"a":\#(Self.text(row.value))}"#, to: daemon)
                guard let contentID = row.contentID else {
                    expectProblem(answer, 422, "content-id-missing", "\(shown)")
                    continue
                }
                count += 1
                #expect(answer.status == 202, "\(shown): \(answer.text)")
                let id = answer["notifications"].asArray?.first?["id"]?.asString ?? ""
                #expect(try await daemon.notification(id)["targetContentIdentifier"].asString == contentID, "\(shown)")
            }
            #expect(try daemon.store.census().accepted == count)
        }
    }

    /// An event with an invalid device is not an event for every device.
    @Test func devicesThatAreNoneRefuseTheRequest() async throws {
        try await Self.withSource(#""device":"{device|query.device}""#) { daemon in
            for value in [
                "..", ".", "../phone", String(repeating: "a", count: 256), String(repeating: "a", count: 5000),
                String(repeating: "\u{1}", count: 100),
            ] {
                let answer = try await Self.post(#"{"device":\#(Self.text(value))}"#, to: daemon)
                expectProblem(answer, 422, "invalid-device-id", "\(value.prefix(20).debugDescription)")
            }
            #expect(try daemon.store.census().accepted == 0)
            // A parameter that occurs twice is ambiguous, and counts as missing.
            for query in ["?device=a&device=b", "", "?device="] {
                let answer = try await Self.post("{}", query, to: daemon)
                #expect(answer.status == 202, "\(query): \(answer.text)")
            }
            expectProblem(try await Self.post("{}", "?device=%ff", to: daemon), 400, "invalid-parameter")
            #expect(try await Self.post("{}", "?device=%00", to: daemon).status == 202)
        }
    }

    @Test func dedupeIDsAreBounded() async throws {
        try await Self.withSource(#""dedupeId":"{a}""#) { daemon in
            for value in ["", "..", String(repeating: "a", count: 513)] {
                let answer = try await Self.post(#"{"a":\#(Self.text(value))}"#, to: daemon)
                expectProblem(answer, 422, "dedupe-id-missing", "\(value.prefix(20))")
            }
            #expect(try daemon.store.census().accepted == 0)
            let long = #"{"a":"\#(String(repeating: "a", count: 512))"}"#
            #expect(try await Self.post(long, to: daemon).status == 202)
            #expect(try await Self.post(long, to: daemon).status == 200)
        }
    }

    /// Templates whose printed text was once refused when the store was read again, so that the daemon did not start.
    private static let kept = [
        "doc/{['a''\u{301}b']|x}", "doc/{x|'a''\u{301}'}",
        "doc/{header['\(String(repeating: "\u{23A}", count: 2000))']|'none'}",
        "doc/{attribute['\(String(repeating: "\u{130}", count: 2000))']|'none'}",
    ]

    @Test(arguments: kept) func templatesSurviveARestart(_ template: String) async throws {
        let directory = try TemporaryDirectory()
        var options = TestDaemon.Options()
        options.database = directory.file()
        let fields = #""contentId":\#(Self.text(template))"#
        try await Self.withSource(fields, options) { _ in }
        try await withDaemon(options) { daemon in
            let shown = try await daemon.call(.get, "/v1/sources/hooks")
            #expect(shown.status == 200, "\(shown.text)")
            #expect(try await Self.post(#"{"x":"1"}"#, to: daemon).status == 202)
        }
    }

    /// A sample may be as large as a request with headers, in base64.
    @Test func aLargeSampleIsTaken() async throws {
        try await Self.withSource(#""contentId":"doc/{a}""#) { daemon in
            let body = #"{"a":"\#(String(repeating: "x", count: 250 * 1024))"}"#
            let sample = JSONWriter.object { object in
                object.object("headers") { $0.field("authorization", "Bearer s3cret") }
                object.field("bodyBase64", Data(body.utf8).base64EncodedString())
            }
            let answer = try await daemon.call(
                .post, "/v1/sources/hooks/test", String(decoding: sample, as: UTF8.self))
            #expect(answer.status == 200, "\(answer.text.prefix(300))")
            #expect(answer["steps"].asArray?[0]["result"] == "ok", "\(answer.text.prefix(300))")
        }
    }
}
