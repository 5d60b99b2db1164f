import Plugins
import RouterPlugin
import RouterdApp
import Testing

@testable import DaemonTesting

@Suite("APNs: scripts of the sandbox")
struct APNsScriptTests {
    private func script(_ text: String) throws(ConfigurationFaults) -> APNsScript {
        try APNsScript(ConfigurationFile(path: "f", text: text))
    }

    private func head(_ token: String = "0a0a0a0a", _ topic: String = "com.example.Gallery") throws -> APNsHead {
        var last: VerifiedProviderToken?
        let request = APNsRequest(
            method: "POST", path: "/3/device/\(token)", headers: [("authorization", "bearer x"), ("apns-topic", topic)])
        return try APNsChecks(tokens: .none).head(of: request, certificateTopic: nil, at: Self.now, last: &last)
    }

    private static let now = Timestamp(milliseconds: 1_767_268_800_000)

    @Test("The first entry that matches answers, as often as it is configured to")
    func entries() throws {
        var script = try script(
            """
            - {token: 0b0b0b0b, reason: Unregistered, timestamp: 5}
            - {topic: com.example.Mail, reason: TooManyRequests, times: 2}
            - {token: 0c0c0c0c, status: 200}
            - {status: 418, reason: Teapot}
            """)
        func answer(_ token: String = "0a0a0a0a", _ topic: String = "com.example.Gallery") throws -> String? {
            script.refusal(of: try head(token, topic), at: Self.now).map {
                "\($0.status) \($0.reason) \($0.timestamp?.milliseconds ?? 0)"
            }
        }
        #expect(try answer("0b0b0b0b") == "410 Unregistered 5")
        #expect(try answer("0a0a0a0a", "com.example.Mail") == "429 TooManyRequests 0")
        #expect(try answer("0b0b0b0b", "com.example.Mail") == "410 Unregistered 5")
        #expect(try answer("0a0a0a0a", "com.example.Mail") == "429 TooManyRequests 0")
        #expect(try answer("0a0a0a0a", "com.example.Mail") == "418 Teapot 0")
        #expect(try answer("0c0c0c0c") == nil)
        var empty = APNsScript()
        #expect(empty.refusal(of: try head(), at: Self.now) == nil)
    }

    @Test("A 410 without a timestamp gets that of the answer, for clients rely on it")
    func timestamps() throws {
        var script = try script("- {reason: Unregistered}")
        #expect(script.refusal(of: try head(), at: Self.now)?.timestamp == Self.now)
    }

    @Test(
        "Faults are reported with their places",
        arguments: [
            ("{}", ""), ("- {}", "/0/reason"), ("- {reason: Nothing}", "/0/reason"),
            ("- {reason: BadTopic, x: 1}", "/0/x"),
            ("- {reason: BadTopic, times: 0}", "/0/times"), ("- {reason: BadTopic}\n- 1", "/1"),
        ])
    func faults(text: String, pointer: String) throws {
        let faults = #expect(throws: ConfigurationFaults.self) { try script(text) }
        #expect(faults?.faults.map(\.pointer) == [pointer])
    }
}
