import HTTPTypes
import Plugins
import Router
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// No log line and no answer holds a secret, except the one answer that has to show it.
@Suite("Secrets are not told", .longest)
struct SecretLeakTests {
    private static let session = "\(TestDaemon.gallery)/sessions/win-1"
    /// Secrets of clients, each with a part that is recognisable in any text.
    private static let secrets = [
        "whsec_CanaryCanaryCanaryCanaryCanary01", "whsec_SecondCanarySecondCanarySecond02",
        "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==",
    ]
    /// Invalid secrets that a person may send in place of one.
    private static let broken = [
        "CanaryCanaryCanaryCanaryCanary01", "whsec_Canary*", "whsec_Canary01", "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723",
        "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvw==",
        #"whsec_CanaryCanary\u0000"#, "rk_Canary",
    ]
    private static let canaries = ["CanaryCanary", "SecondCanary", "Canary*", "Canary01", "6Xb/", "rk_Canary"]

    /// Bodies that hold a secret, and are valid or not in another member.
    private static var bodies: [String] {
        (secrets + broken).flatMap { secret in
            [
                #"{"endpoint":{"url":"http://127.0.0.1:9/","secret":"\#(secret)"}}"#,
                #"{"endpoint":{"url":"http://127.0.0.1:9/","signingKeys":[{"secret":"\#(secret)"}]}}"#,
                #"{"endpoint":{"url":"http://127.0.0.1:9/","signingKeys":[{"secret":"\#(secret)","notAfter":"x"}]}}"#,
                #"{"endpoint":{"url":"http://127.0.0.1:9/","secret":"\#(secret)","#,
                #"{"endpoint":{"url":"http://127.0.0.1:9/","secret":"\#(secret)","secret":"\#(secret)"}}"#,
                #"{"endpoint":{"url":"nowhere","secret":"\#(secret)"}}"#,
                #"{"endpoint":{"url":"http://127.0.0.1:9/","secret":["\#(secret)"]}}"#,
                #"{"endpoint":{"url":"http://127.0.0.1:9/","secret":"\#(secret)"},"configuration":"x"}"#,
                #"{"delegate":{"url":"http://127.0.0.1:9/","secret":"\#(secret)"}}"#,
                #"{"secret":"\#(secret)"}"#, #"{"secret":"\#(secret)","version":"v1"}"#,
                #"{"id":"win-9","endpoint":{"url":"http://127.0.0.1:9/","secret":"\#(secret)"}}"#,
            ]
        }
    }

    private func expectSilence(_ text: String, _ what: String, secrets: [String] = []) {
        for canary in Self.canaries + secrets {
            #expect(!text.contains(canary), "\(what) holds \(canary.prefix(9))…: \(text.prefix(400))")
        }
    }

    @Test func logsAndAnswersHoldNoSecret() async throws {
        let log = CapturedLog()
        try await withGallery(.init(isLive: true, logger: log.logger)) { daemon, receiver in
            let calls: [(HTTPRequest.Method, String)] = [
                (.put, Self.session), (.patch, Self.session), (.put, TestDaemon.gallery),
                (.post, "\(Self.session)/endpoint/rotate-secret"),
                (.post, "\(TestDaemon.gallery)/delegate/rotate-secret"),
                (.post, "\(TestDaemon.gallery)/sessions:batch"), (.post, "\(TestDaemon.gallery)/notifications"),
            ]
            var statuses: Set<Int> = []
            for body in Self.bodies {
                for (method, path) in calls {
                    let answer = try await daemon.call(method, path, body)
                    statuses.insert(answer.status)
                    expectSilence(answer.text + "\(answer.headers)", "\(method) \(path) \(answer.status)")
                }
            }
            #expect(statuses.isSuperset(of: [200, 201, 400, 422]), "\(statuses)")
            // Generated secrets are shown once and never again; failed attempts show the reason, and no more. The
            // application is deleted, for the test would wait for deliveries to an endpoint that does not exist.
            _ = try await daemon.call(.delete, TestDaemon.gallery)
            try await daemon.putGallery()
            let made = try await daemon.call(.put, Self.session, #"{"endpoint":{"url":"\#(receiver.url())"}}"#)
            receiver.answer(with: 500, 410)
            let rotated = try await daemon.call(.post, "\(Self.session)/endpoint/rotate-secret")
            let fresh = try [made["endpoint", "secret"], rotated["secret"]].map { try #require($0.asString) }
            let id = try await daemon.post(about: "a").id
            let settled = try await daemon.settled(id)
            for path in [
                Self.session, TestDaemon.gallery, "/v1/applications", "\(TestDaemon.gallery)/sessions", "/v1/lanes",
                "/v1/status", "/v1/notifications",
            ] { expectSilence(try await daemon.call(.get, path).text, path, secrets: fresh) }
            expectSilence(settled.text, "the notification", secrets: fresh)
            expectSilence(log.text, "the log", secrets: fresh.map { String($0.dropFirst(6)) })
        }
        #expect(log.text.contains("endpoint fails"), "there is a log to look through")
    }

    @Test func aPrintedValueHoldsNoSecret() throws {
        let keys = try SigningKeys(Self.secrets.map { SigningKey($0) }, at: Timestamp(milliseconds: 0))
        let endpoint = Endpoint(url: "https://a", keys: keys)
        let keyring = try TestKeyring.of(1)
        var shown = "\(endpoint) \(keys) \(String(reflecting: keys)) \(keyring) \(String(reflecting: keyring))"
        dump(endpoint, to: &shown)
        dump(keyring, to: &shown)
        let error = SigningKeysError.gap(from: Timestamp(milliseconds: 0))
        shown += "\(error) \(WebhookSecretError.allCases.map(\.description))"
        expectSilence(shown, "a print", secrets: [TestKeyring.key(1)])
    }
}
