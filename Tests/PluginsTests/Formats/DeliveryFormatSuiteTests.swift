import RouterPlugin
import RouterTesting
import Synchronization
import Testing

/// Each of these formats is broken in one way, and the suite must say so.
@Suite("Delivery format suite")
struct DeliveryFormatSuiteTests {
    private struct Format: DeliveryFormat {
        var id = PluginID(unchecked: "com.example.format")
        let answer: @Sendable (DeliveryMessage) -> Result<RenderedRequest, DeliveryFormatError>

        func render(_ message: DeliveryMessage) throws(DeliveryFormatError) -> RenderedRequest {
            try answer(message).get()
        }
    }

    private func violations(
        id: String = "com.example.format",
        answer: @escaping @Sendable (DeliveryMessage) -> Result<RenderedRequest, DeliveryFormatError>
    ) -> [String] {
        DeliveryFormatSuite.violations(of: Format(id: PluginID(unchecked: id), answer: answer), seed: 7)
    }

    private static func plain(_ message: DeliveryMessage) -> RenderedRequest {
        RenderedRequest(contentType: "text/plain", body: Array(message.type.utf8))
    }

    private static func refusal(_ code: String = "bad", _ message: String = "It cannot be.") -> DeliveryFormatError {
        DeliveryFormatError(code: code, message: message)
    }

    @Test("A sound format conforms, and may refuse hostile input")
    func sound() {
        #expect(violations { .success(Self.plain($0)) } == [])
        #expect(
            violations {
                $0.session?.id.text == "win-7" || $0.session == nil
                    ? .success(Self.plain($0)) : .failure(Self.refusal())
            } == [])
    }

    @Test("A bad name is found", arguments: ["", "format", "com..format", "com.example.format "])
    func name(id: String) {
        #expect(violations(id: id) { .success(Self.plain($0)) }.contains { $0.hasPrefix("id: ") })
    }

    @Test("A refusal of an ordinary message is found, by its type")
    func ordinary() {
        let found = violations { $0.type == "scene.refresh" ? .failure(Self.refusal()) : .success(Self.plain($0)) }
        #expect(found == ["ordinary: a message of the type scene.refresh is refused with bad"])
    }

    @Test("Memory is found")
    func determinism() {
        let count = Counter()
        let found = violations { message in
            var request = Self.plain(message)
            request.body += Array("\(count.next())".utf8)
            return .success(request)
        }
        #expect(found == ["determinism: the same message is rendered differently"])
    }

    private final class Counter: Sendable {
        private let calls = Mutex(0)
        func next() -> Int {
            calls.withLock {
                $0 += 1; return $0
            }
        }
    }

    static let faults: [(RenderedRequest, String)] = [
        (RenderedRequest(contentType: "", body: []), "The content type must be visible ASCII."),
        (RenderedRequest(contentType: "a/b\r\nx: y", body: []), "The content type must be visible ASCII."),
        (RenderedRequest(contentType: "a/b", headers: [.init("X-A", "b")], body: []), "not a token in lower case"),
        (RenderedRequest(contentType: "a/b", headers: [.init("x a", "b")], body: []), "not a token in lower case"),
        (RenderedRequest(contentType: "a/b", headers: [.init("", "b")], body: []), "not a token in lower case"),
        (
            RenderedRequest(contentType: "a/b", headers: [.init("x-a", "b\nc")], body: []),
            "The value of the header field x-a"
        ),
        (
            RenderedRequest(contentType: "a/b", headers: [.init("x-a", "é")], body: []),
            "The value of the header field x-a"
        ),
        (
            RenderedRequest(contentType: "a/b", headers: [.init("webhook-id", "1")], body: []),
            "webhook-id is set by the router"
        ),
        (RenderedRequest(contentType: "a/b", headers: [.init("host", "1")], body: []), "host is set by the router"),
        (
            RenderedRequest(
                contentType: "a/b", headers: Array(repeating: .init("a", "1"), count: 33), body: []),
            "There are 33 header fields"
        ),
        (
            RenderedRequest(
                contentType: "a/b", headers: [.init("a", String(repeating: "b", count: 9000))], body: []),
            "The header fields have 9001 bytes"
        ),
        (
            RenderedRequest(contentType: "a/b", body: [UInt8](repeating: 0, count: 1024 * 1024 + 1)),
            "The body has 1048577 bytes"
        ),
    ]

    @Test("Requests that cannot be sent are found", arguments: faults)
    func request(request: RenderedRequest, expected: String) {
        #expect(request.fault?.message.contains(expected) == true)
        let found = violations { _ in .success(request) }
        #expect(found.count == 1 && found[0].contains(expected), "\(found)")
    }

    @Test("A body that is said to be JSON, and is none, is found")
    func json() {
        let found = violations { message in
            let id = message.session?.id.text ?? ""
            return .success(RenderedRequest(contentType: "application/JSON; x=y", body: Array("\"\(id)\"".utf8)))
        }
        #expect(found == ["body: is said to be JSON, and is none"])
    }

    @Test("Errors are checked, and payloads are not quoted")
    func errors() {
        func refusing(_ error: @escaping @Sendable (DeliveryMessage) -> DeliveryFormatError) -> [String] {
            violations { message in
                message.id == "dlv_01" && message.session?.id.text != "win-7"
                    || message.notification.map { $0.payload.count > 40 } == true
                    ? .failure(error(message)) : .success(Self.plain(message))
            }.filter { !$0.hasPrefix("ordinary") }
        }
        #expect(refusing { _ in Self.refusal("Bad Code") } == ["errors: the code Bad Code is not in kebab-case"])
        #expect(refusing { _ in Self.refusal("bad", "") } == ["errors: the message of bad is empty"])
        #expect(refusing { _ in Self.refusal("bad", "a\nb") } == ["errors: the message of bad has control characters"])
        let long = String(repeating: "x", count: 501)
        #expect(refusing { _ in Self.refusal("bad", long) } == ["errors: the message of bad is too long"])
        let quoting = refusing { message in
            let payload = message.notification?.payload ?? []
            return Self.refusal(
                "bad", String(decoding: payload.suffix(400).filter { $0 >= 0x20 && $0 < 0x7F }, as: UTF8.self) + ".")
        }
        #expect(quoting.contains("errors: the message of bad quotes the payload"))
    }
}
