import HTTPTypes
import Plugins
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// Rotating secrets while webhooks are sent: receivers verify with one key, and accept every webhook.
@Suite("Rotating secrets", .longest)
struct SecretRotationTests {
    private static let rotate = "\(TestDaemon.gallery)/sessions/win-1/endpoint/rotate-secret"
    private static let other = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
    private static let privateKey =
        "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
    private static let publicKey = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="

    /// An attempt is under way when the secret is rotated, fails, and is retried. A receiver that knows only the old
    /// secret, and one that knows only the new one, can verify all later webhooks.
    @Test(arguments: [true, false])
    func aReceiverThatKnowsOneOfTheTwoLosesNothing(knowsOld: Bool) async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url())
            receiver.hold()
            receiver.answer(with: 500)
            let underWay = try await daemon.post(about: "a").id
            try await receiver.webhooks(1)

            let rotated = try await daemon.call(.post, Self.rotate, #"{"overlapSeconds":3600}"#)
            #expect(rotated.status == 200, "\(rotated.text)")
            let secret = try #require(rotated["secret"].asString)
            #expect(secret.hasPrefix("whsec_") && secret != Receiver.secret)
            if !knowsOld { try receiver.trustOnly(secret) }
            receiver.release()

            #expect(try await daemon.settled(underWay)["state"] == "delivered")
            for content in ["b", "c"] { try await daemon.post(about: content) }
            let webhooks = try await receiver.webhooks(4)
            #expect(webhooks[0].isVerified, "it was signed before")
            #expect(webhooks.dropFirst().allSatisfy { $0.isVerified })
            #expect(webhooks.map { $0.header("webhook-signature").split(separator: " ").count } == [1, 2, 2, 2])
            #expect(Set(webhooks.prefix(2).map(\.id)).count == 1)
        }
    }

    @Test func withoutAnOverlapTheOldSecretSignsNoMore() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url())
            let body = #"{"secret":"\#(Self.other)","overlapSeconds":0}"#
            let rotated = try await daemon.call(.post, Self.rotate, body)
            #expect(rotated.json == ["url": .string(receiver.url()), "signingKeys": [["version": "v1"]]])
            try await daemon.post(about: "a")
            #expect(try await receiver.webhooks(1).map(\.isVerified) == [false])
            try receiver.trust(Self.other)
            try await daemon.post(about: "b")
            #expect(try await receiver.webhooks(2).last?.isVerified == true)
        }
    }

    /// Both versions at once, each sufficient for a receiver; and only public parts are shown.
    @Test(arguments: [Receiver.secret, publicKey])
    func bothVersionsSign(known: String) async throws {
        try await withGallery { daemon, receiver in
            try receiver.trustOnly(known)
            let keys =
                #"[{"secret":"\#(Receiver.secret)","notAfter":"2999-01-01T00:00:00Z"},{"secret":"\#(Self.privateKey)"}]"#
            let created = try await daemon.call(
                .put, "\(TestDaemon.gallery)/sessions/win-1",
                #"{"endpoint":{"url":"\#(receiver.url())","signingKeys":\#(keys)}}"#)
            #expect(created.status == 201, "\(created.text)")
            let shown: JSONValue = [
                ["version": "v1", "notAfter": "2999-01-01T00:00:00.000Z"],
                ["version": "v1a", "publicKey": .string(Self.publicKey)],
            ]
            #expect(created["endpoint", "signingKeys"] == shown)
            #expect(try await daemon.session("win-1").json == created.json)
            try await daemon.post(about: "a")
            let webhook = try #require(try await receiver.webhooks(1).first)
            #expect(webhook.isVerified)
            let versions = webhook.header("webhook-signature").split(separator: " ").map { $0.prefix { $0 != "," } }
            #expect(versions == ["v1", "v1a"])
        }
    }

    /// From a shared secret to a key pair: the daemon generates the pair and keeps the private half to itself.
    @Test func aSecretIsExchangedForAPair() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url())
            let rotated = try await daemon.call(
                .post, Self.rotate, #"{"version":"v1a","replaces":["v1"],"overlapSeconds":0}"#)
            #expect(rotated["secret"] == .null && !rotated.text.contains("whsk_"), "\(rotated.text)")
            let keys = try #require(rotated["signingKeys"].asArray)
            #expect(keys.count == 1)
            try receiver.trustOnly(try #require(keys.first?["publicKey"]?.asString))
            try await daemon.post(about: "a")
            #expect(try await receiver.webhooks(1).map(\.isVerified) == [true])
            // The next rotation generates a pair again by default.
            let again = try await daemon.call(.post, Self.rotate, "")
            #expect(again["signingKeys"].asArray?.map { $0["version"] } == ["v1a", "v1a"])
        }
    }

    @Test func theEndpointsOfAnApplicationAreExchangedToo() async throws {
        try await withReceiver { receiver in
            try await withDaemon { daemon in
                let endpoint = #"{"url":"\#(receiver.url())","secret":"\#(Receiver.secret)"}"#
                try await daemon.putGallery(
                    #"{"delegate":\#(endpoint),"#
                        + #""manifest":{"sceneConfigurations":[{"name":"Größe 1/2","endpoint":\#(endpoint)}]}}"#)
                #expect(try await daemon.call(.put, "\(TestDaemon.gallery)/sessions/win-1", "{}").status == 201)
                let path = "\(TestDaemon.gallery)/sceneConfigurations/Gr%C3%B6%C3%9Fe%201%2F2/endpoint/rotate-secret"
                let rotated = try await daemon.call(.post, path, #"{"overlapSeconds":0}"#)
                #expect(rotated.status == 200, "\(rotated.text)")
                try receiver.trustOnly(try #require(rotated["secret"].asString))
                try await daemon.post(about: "a")
                #expect(try await receiver.webhooks(1).map(\.isVerified) == [true])
                let delegate = try await daemon.call(.post, "\(TestDaemon.gallery)/delegate/rotate-secret")
                #expect(delegate["secret"].asString?.hasPrefix("whsec_") == true)
                let read = try await daemon.call(.get, TestDaemon.gallery)
                #expect(read["delegate", "signingKeys"] == delegate["signingKeys"] && !read.text.contains("secret"))
                expectProblem(try await daemon.call(.post, Self.rotate), 404, "unknown-endpoint")
            }
        }
    }

    @Test func aRepeatedRequestExchangesNothing() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url())
            try await daemon.putSession("win-2", at: receiver.url())
            let headers = ["idempotency-key": "k"]
            let first = try await daemon.call(.post, Self.rotate, "{}", headers: headers)
            let secret = try #require(first["secret"].asString)
            let again = try await daemon.call(.post, Self.rotate, "{}", headers: headers)
            #expect(again.status == 200 && again["secret"] == .null, "a secret is shown once")
            #expect(again["signingKeys"] == first["signingKeys"])
            let others = [
                (Self.rotate, #"{"overlapSeconds":1}"#), (Self.rotate.replacing("win-1", with: "win-2"), "{}"),
            ]
            for (path, body) in others {
                let conflict = try await daemon.call(.post, path, body, headers: headers)
                expectProblem(conflict, 409, "idempotency-conflict")
            }
            try receiver.trustOnly(secret)
            try await daemon.post(about: "a")
            #expect(try await receiver.webhooks(1).map(\.isVerified) == [true])
        }
    }

    @Test func keysAreBounded() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url())
            for _ in 0..<9 { #expect(try await daemon.call(.post, Self.rotate).status == 200) }
            expectProblem(try await daemon.call(.post, Self.rotate), 422, "secret-limit")
            let alone = try await daemon.call(.post, Self.rotate, #"{"overlapSeconds":0}"#)
            #expect(alone["signingKeys"].asArray?.count == 1)
        }
    }
}
