import RouterPlugin
import Testing

@testable import Plugins

struct GitHubSourceTests {
    private let source = GitHubSource()
    /// The secret of GitHub's own example.
    private let secret = "It's a Secret to Everybody"

    private func signed(_ body: [UInt8], _ headers: [(name: String, value: String)] = []) -> SourceRequest {
        request(body, [("x-hub-signature-256", "sha256=" + hexadecimalCode(body, secret))] + headers)
    }

    /// The example of docs.github.com, "Validating webhook deliveries".
    @Test func theSignatureIsThatOfGitHub() {
        let signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
        #expect(source.refusal(of: request("Hello, World!", [("x-hub-signature-256", signature)]), secret) == nil)
        for forged in [
            "", signature.dropFirst(7) + "", "sha1" + signature.dropFirst(6), signature + "00", signature + " ",
        ] {
            let request = request("Hello, World!", [("x-hub-signature-256", forged)])
            #expect(source.refusal(of: request, secret) == "signature-invalid")
        }
        #expect(source.refusal(of: request("Hello, World", [("x-hub-signature-256", signature)]), secret) != nil)
    }

    @Test func sha1AloneIsRefusedWithTheReason() {
        let error = #expect(throws: SourceError.self) {
            try source.verify(request("{}", [("x-hub-signature", "sha1=00")]), with: [SourceSecret(secret)])
        }
        #expect(error?.code == "signature-missing")
        #expect(error?.message.contains("SHA-1") == true)
        #expect(source.refusal(of: request("{}"), secret) == "signature-missing")
        let both = signed(Array("{}".utf8), [("x-hub-signature", "sha1=00")])
        #expect(source.refusal(of: both, secret) == nil)
    }

    @Test func severalSecretsAreGoodDuringARotation() {
        let request = signed(Array("{}".utf8))
        #expect(source.refusal(of: request, "new", secret) == nil)
        #expect(source.refusal(of: request, secret, "new") == nil)
        #expect(source.refusal(of: request, "new", "newer") == "signature-invalid")
    }

    // MARK: Payloads

    @Test func everyPayloadIsKeptByteForByte() throws {
        let names = try Fixtures.names(in: "github")
        #expect(names.count == 46)
        for name in names {
            let body = try Fixtures.bytes("github/\(name)")
            let type = String(name.prefix { $0 != "." })
            let request = signed(body, [("x-github-event", type), ("x-github-delivery", "0f0f")])
            #expect(source.refusal(of: request, secret) == nil, "\(name)")
            let event = SourceEvent(type: type, payload: body, dedupeKeys: ["delivery:0f0f"])
            #expect(try source.decode(request) == SourceDecoding([event]), "\(name)")
        }
    }

    /// A place of a template that no payload has would never give a content id.
    @Test func everyTemplateFitsItsPayload() throws {
        let templates = source.defaults.contentID
        var seen: [String: String] = [:]
        for name in try Fixtures.names(in: "github") {
            let type = String(name.prefix { $0 != "." })
            let payload = try JSONValue(parsing: Fixtures.bytes("github/\(name)"))
            let template = try #require(templates[type] ?? templates["*"])
            let id: String = try #require(TemplateText(template).filled(from: payload), "\(name): \(template)")
            seen[type] = id
        }
        #expect(seen["issues"] == "github://Codertocat/Hello-World/issues/1")
        #expect(seen["issue_comment"] == "github://Codertocat/Hello-World/issues/1")
        #expect(seen["pull_request"] == "github://Codertocat/Hello-World/pull/2")
        #expect(seen["push"] == "github://Codertocat/Hello-World/refs/tags/simple-tag")
        #expect(seen["ping"] != nil && seen["star"] == "github://Codertocat/Hello-World")
        let untested = Set(templates.keys).subtracting(seen.keys)
        #expect(untested == ["*", "dependabot_alert", "secret_scanning_alert"])
    }

    @Test func formsCarryTheirPayload() throws {
        let form = Array("x=1&payload=%7B%22a%22%3A+%22%C3%A9%2B%22%7D".utf8)
        let headers = [
            ("content-type", "application/x-www-form-urlencoded; charset=utf-8"), ("x-github-event", "push"),
        ]
        let request = signed(form, headers)
        #expect(source.refusal(of: request, secret) == nil)
        let events = try source.decode(request).events
        let payload = Array(#"{"a": "é+"}"#.utf8)
        #expect(events == [SourceEvent(type: "push", payload: payload, dedupeKeys: [request.bodyKey])])
    }

    @Test(arguments: [
        ("", "form-field-missing"), ("payloads=%7B%7D", "form-field-missing"), ("payload", "json-unexpected-end"),
        ("payload=%7", "form-bad-escape"), ("payload=%7G", "form-bad-escape"), ("payload=%FF", "form-not-utf-8"),
        ("payload=%7B%7D&payload=%7B%7D", "form-duplicate-field"), ("payload={}", "form-not-encoded"),
        (#"{"title":"x&payload=%7B%7D&y="}"#, "form-not-encoded"), ("a b=c", "form-not-encoded"),
        ("a=\n", "form-not-encoded"), ("a=<b>", "form-not-encoded"), ("a=%22\"", "form-not-encoded"),
        ("payload=[]", "payload-not-an-object"),
        (String(repeating: "a&", count: 2), "form-duplicate-field"),
        ((0...256).map { "f\($0)=" }.joined(separator: "&"), "form-too-many-fields"),
        (String(repeating: "a", count: 768 * 1024 + 1), "form-too-long"),
    ])
    func otherFormsAreRefused(form: String, code: String) {
        let request = request(form, [("content-type", "Application/X-WWW-Form-URLEncoded")])
        #expect(source.decodingRefusal(of: request) == code)
    }

    @Test(arguments: [
        ("", "json-unexpected-end"), ("[]", "payload-not-an-object"), ("payload=%7B%7D", "json-unexpected-byte"),
        (#"{"a":1,"a":2}"#, "json-duplicate-key"),
    ])
    func otherBodiesAreRefused(body: String, code: String) {
        #expect(source.decodingRefusal(of: request(body, [("content-type", "application/json")])) == code)
    }

    @Test(arguments: [
        ("x-github-event", "", "bad-event-type"), ("x-github-event", "é", "bad-event-type"),
        ("x-github-event", String(repeating: "a", count: 129), "bad-event-type"),
        ("x-github-delivery", "", "bad-delivery-id"), ("x-github-delivery", "a\u{7F}", "bad-delivery-id"),
        ("x-github-delivery", String(repeating: "a", count: 256), "bad-delivery-id"),
        ("x-github-event", "\u{FFFD}", "header-not-utf8"),
    ])
    func otherHeadersAreRefused(name: String, value: String, code: String) {
        #expect(source.decodingRefusal(of: request("{}", [(name, value)])) == code)
    }

    /// A source says whether the same body under another id is a copy or another event.
    @Test func repeatedBodiesAreRefusedByChoice() throws {
        let strict = try GitHubSource.kind.make(["refuseRepeatedBodies": true])
        let delivered = request("{}", [("x-github-delivery", "0f")])
        #expect(try strict.decode(delivered).events[0].dedupeKeys == ["delivery:0f", delivered.bodyKey])
        #expect(try source.decode(delivered).events[0].dedupeKeys == ["delivery:0f"])
        #expect(try strict.decode(request("{}")).events[0].dedupeKeys == [delivered.bodyKey])
        #expect(throws: PluginConfigurationError.self) { try GitHubSource.kind.make(["refuseRepeatedBodies": 1]) }
    }

    @Test func headersMayBeLeftOut() throws {
        let bare = request("{}")
        let event = SourceEvent(payload: bare.body, dedupeKeys: [bare.bodyKey])
        #expect(try source.decode(bare).events == [event])
        let twice = request("{}", [("x-github-event", "a"), ("x-github-event", "a")])
        #expect(source.decodingRefusal(of: twice) == "duplicate-header")
    }
}
