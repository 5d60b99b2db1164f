import Glibc
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// The page of `routerd receive --ui` and the requests that it makes.
@Suite("Inspector", .longest)
struct InspectorTests {
    private struct Client: Sendable {
        let port: Int

        func call(
            _ method: String, _ path: String, _ body: String = "", headers: [String] = ["Host: localhost"]
        ) async throws -> RawAnswer {
            let head = ["\(method) \(path) HTTP/1.1", "Content-Length: \(body.utf8.count)", "Connection: close"]
            let text = (head + headers).joined(separator: "\r\n") + "\r\n\r\n" + body
            return try #require(try await RawConnection.exchange(text, with: port).first)
        }
    }

    private func withInspector(_ body: @Sendable (Client) async throws -> Void) async throws {
        let receiver = try Program(["receive", "--listen", "127.0.0.1:0", "--ui", "--status", "202"])
        let port = try await receiver.line(beginning: "listening on http://127.0.0.1:")
        #expect(try await receiver.line(beginning: "inspect at ") == "http://127.0.0.1:\(port)/_inspector/")
        try await body(Client(port: try #require(Int(port))))
        receiver.send(SIGTERM)
        #expect(try await receiver.ended().status == 0)
    }

    @Test func webhooksAreShownAndAnsweredAsPlanned() async throws {
        try await withInspector { client in
            let plan = #"{"status":429,"delayMilliseconds":1,"retryAfterSeconds":7,"body":"{\"a\":1}","times":1}"#
            let planned = try await client.call("PUT", "/_inspector/answer", plan)
            #expect(planned.status == 200 && planned.json.at("plan").at("times") == 1)
            let first = try await client.call(
                "POST", "/hook?a=1", #"{"type":"b"}"#, headers: ["Host: localhost", "Webhook-Id: msg_1"])
            #expect(first.status == 429 && first.headers["retry-after"] == "7" && first.json.at("a") == 1)
            #expect(try await client.call("POST", "/hook").status == 202)
            let list = try await client.call("GET", "/_inspector/webhooks").json
            let webhooks = list.at("webhooks").asArray ?? []
            #expect(webhooks.map { $0.at("number") } == [1, 2] && list.at("plan").at("status") == 202)
            #expect(webhooks.first?.at("target") == "/hook?a=1" && webhooks.first?.at("signature") == "unchecked")
            let one = try await client.call("GET", "/_inspector/webhooks/1").json
            #expect(one.at("text") == #"{"type":"b"}"# && one.at("answer").at("status") == 429)
            let names = (one.at("headers").asArray ?? []).map { $0.at("name") }
            #expect(names.contains("webhook-id"))
            let replayed = try await client.call(
                "POST", "/_inspector/webhooks/1/replay", #"{"url":"http://127.0.0.1:\#(client.port)/again"}"#)
            #expect(replayed.json.at("status") == 202)
            let again = try await client.call("GET", "/_inspector/webhooks/3").json
            #expect(again.at("target") == "/again" && again.at("webhookId") == "msg_1")
            #expect(again.at("text") == #"{"type":"b"}"#)
            #expect(try await client.call("DELETE", "/_inspector/webhooks").status == 204)
            #expect(try await client.call("GET", "/_inspector/webhooks/1").summary == "404 not-found")
        }
    }

    /// The guides register the endpoints /inspector and /main.
    @Test func aPostToAnyPathButThatOfThePageIsAWebhook() async throws {
        let receiver = try Program(["receive", "--listen", "127.0.0.1:0", "--ui"])
        let port = try await receiver.line(beginning: "listening on http://127.0.0.1:")
        let client = Client(port: try #require(Int(port)))
        let paths = ["/inspector", "/inspector/", "/inspector/webhooks/1/replay", "/main", "/", "/a/b/c"]
        for path in paths { #expect(try await client.call("POST", path).status == 204, "\(path)") }
        let webhooks = try await client.call("GET", "/_inspector/webhooks").json.at("webhooks").asArray ?? []
        #expect(webhooks.map { $0.at("target").asString } == paths)
        #expect(try await client.call("POST", "/_inspector/hook").status == 404)
        #expect(try await receiver.line(beginning: "refused 404: POST") == " /_inspector/hook")
        #expect(try await client.call("GET", "/main").status == 404)
        #expect(try await receiver.line(beginning: "refused 404: GET") == " /main")
        receiver.send(SIGTERM)
        #expect(try await receiver.ended().status == 0)
    }

    @Test func theFilesArePartOfTheBinary() async throws {
        try await withInspector { client in
            #expect(try await client.call("GET", "/").headers["location"] == "/_inspector/")
            #expect(try await client.call("GET", "/_inspector").headers["location"] == "/_inspector/")
            for name in ["", "style.css", "base.js", "inspector.js"] {
                let file = try await client.call("GET", "/_inspector/\(name)")
                let policy = file.headers["content-security-policy"] ?? ""
                #expect(file.status == 200 && policy.hasPrefix("default-src 'none'"), "\(name)")
            }
        }
    }

    @Test(arguments: [
        ["Host: evil.example"], ["Host: localhost", "Origin: http://evil.example"],
        ["Host: localhost", "Sec-Fetch-Site: cross-site"],
    ])
    func pagesOfOtherSitesSeeNothing(headers: [String]) async throws {
        try await withInspector { client in
            for (method, path) in [
                ("GET", "/_inspector/"), ("GET", "/_inspector/webhooks"), ("PUT", "/_inspector/answer"),
                ("POST", "/_inspector/webhooks/1/replay"),
            ] {
                let answer = try await client.call(method, path, headers: headers)
                #expect(answer.summary == "421 host-not-local", "\(path)")
            }
        }
    }

    @Test(arguments: [
        (#"{"status":99}"#, "422 invalid-field"), (#"{"status":204,"delayMilliseconds":-1}"#, "422 invalid-field"),
        (#"{}"#, "422 missing-field"), (#"{"status":204,"stauts":1}"#, "400 unknown-field"),
    ])
    func aPlanThatCannotBeIsRefused(plan: String, summary: String) async throws {
        try await withInspector { client in
            #expect(try await client.call("PUT", "/_inspector/answer", plan).summary == summary)
            #expect(try await client.call("POST", "/").status == 202)
            let url = #"{"url":"file:///etc/passwd"}"#
            let replayed = try await client.call("POST", "/_inspector/webhooks/1/replay", url)
            #expect(replayed.summary == "422 invalid-field")
        }
    }
}
