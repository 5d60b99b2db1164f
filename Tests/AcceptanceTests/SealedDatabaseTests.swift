import Foundation
import Glibc
import HTTPTypes
import RouterPlugin
import RouterdApp
import TestSupport
import Testing

@testable import DaemonTesting

/// Secrets at rest, with the real daemon: nothing of them on disk, and no start without their key.
@Suite("Sealed database", .longest)
struct SealedDatabaseTests {
    private static let secrets = [
        "whsec_CanaryCanaryCanaryCanaryCanary01", "whsec_SecondCanarySecondCanarySecond02",
        "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==",
    ]

    /// The traces that would give a secret away: its base64, and the bytes that it stands for.
    private static func traces(of secrets: [String]) throws -> [Data] {
        try secrets.flatMap { secret in
            let text = String(secret.dropFirst(secret.hasPrefix("whsk_") ? 5 : 6))
            return [Data(text.prefix(40).utf8), try #require(Data(base64Encoded: text)).prefix(24)]
        }
    }

    private func traces(of secrets: [String], in directory: TemporaryDirectory) throws -> [String] {
        var found: [String] = []
        for name in try FileManager.default.contentsOfDirectory(atPath: directory.path) where name.hasPrefix("routerd.")
        {
            let bytes = try Data(contentsOf: URL(filePath: directory.file(name)))
            found += try Self.traces(of: secrets).filter { bytes.range(of: $0) != nil }.map { _ in name }
        }
        return found
    }

    /// Registers a secret in every place that takes one; returns those that the daemon made.
    private func register(_ daemon: some APICaller, at url: String) async throws -> [String] {
        let endpoint = #"{"url":"\#(url)","secret":"\#(Self.secrets[0])"}"#
        let both =
            #"[{"secret":"\#(Self.secrets[1])","notAfter":"2999-01-01T00:00:00Z"},{"secret":"\#(Self.secrets[2])"}]"#
        let manifest = #""manifest":{"sceneConfigurations":[{"name":"a","endpoint":\#(endpoint)}]}"#
        try await daemon.putGallery(
            #"{"delegate":\#(endpoint),\#(manifest),"delivery":{"lifeCycleEvents":false}}"#)
        let session = "\(TestDaemon.gallery)/sessions/win-1"
        let put = try await daemon.call(
            .put, session, #"{"endpoint":{"url":"\#(url)","signingKeys":\#(both)}}"#)
        #expect(put.status == 201, "\(put.text)")
        let rotated = try await daemon.call(.post, "\(TestDaemon.gallery)/delegate/rotate-secret")
        let made = try await daemon.call(
            .put, "\(TestDaemon.gallery)/sessions/win-2", #"{"endpoint":{"url":"\#(url)"}}"#)
        return try [rotated["secret"], made["endpoint", "secret"]].map { try #require($0.asString) }
    }

    @Test func noSecretIsOnDisk() async throws {
        let directory = try TemporaryDirectory()
        let environment = ["ROUTERD_SECRETS_KEY_FILE": try directory.write(TestKeyring.key(1), to: "keys")]
        let (program, port) = try await ServedDaemon.start(
            database: directory.file("routerd.sqlite"), environment: environment)
        let made = try await ServedDaemon.connected(to: program, port: port) { daemon in
            let made = try await register(daemon, at: "http://127.0.0.1:9/")
            // While it runs, the log has what the database has not.
            #expect(try traces(of: Self.secrets + made, in: directory).isEmpty)
            return made
        }
        // Killed, it leaves its log behind.
        program.send(SIGKILL)
        _ = try await program.ended()
        #expect(try traces(of: Self.secrets + made, in: directory).isEmpty)
        #expect(FileManager.default.fileExists(atPath: directory.file("routerd.sqlite-wal")))
    }

    /// A database that was plain is sealed, goes over to a new key, and signs as before all the while.
    @Test func aPlainDatabaseIsSealedAndItsKeyIsExchanged() async throws {
        let directory = try TemporaryDirectory()
        let database = directory.file("routerd.sqlite")
        let keys = directory.file("keys")
        try await withReceiver { receiver in
            let url = receiver.url()
            try await withServedDaemon(database: database) { daemon in
                _ = try await register(daemon, at: url)
            }
            let plain = try traces(of: Self.secrets, in: directory)
            #expect(!plain.isEmpty, "the search finds plain text")
            for (count, lines) in ([[1], [2, 1], [2]] as [[UInt8]]).enumerated() {
                _ = try directory.write(lines.map { TestKeyring.key($0) }.joined(separator: "\n"), to: "keys")
                try await withServedDaemon(database: database, environment: ["ROUTERD_SECRETS_KEY_FILE": keys]) {
                    daemon in
                    #expect(try traces(of: Self.secrets, in: directory).isEmpty)
                    _ = try await daemon.call(.delete, "\(TestDaemon.gallery)/sessions/win-2")
                    try receiver.trustOnly(
                        count == 1 ? Self.secrets[1] : "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=")
                    try await daemon.post(about: "a")
                    #expect(try await receiver.webhooks(count + 1).last?.isVerified == true)
                }
                #expect(try traces(of: Self.secrets, in: directory).isEmpty)
            }
        }
    }

    /// The key is named, the status is 1, and with the right key everything is there as before.
    @Test func withoutTheRightKeyItDoesNotStart() async throws {
        let directory = try TemporaryDirectory()
        let database = directory.file("routerd.sqlite")
        let right = try directory.write(TestKeyring.key(1), to: "right")
        let wrong = try directory.write(TestKeyring.key(2), to: "wrong")
        let before = try await withServedDaemon(
            database: database, environment: ["ROUTERD_SECRETS_KEY_FILE": right]
        ) { daemon in
            _ = try await register(daemon, at: "http://127.0.0.1:9/")
            return try await daemon.session("win-1").bytes
        }
        let id = try #require(try TestKeyring.of(1).keyIDs.first)
        for environment in [[:], ["ROUTERD_SECRETS_KEY_FILE": wrong]] as [[String: String]] {
            let ended = try await Program.run(
                "serve", "--listen", "127.0.0.1:0", "--database", database, environment: environment)
            #expect(ended.status == 1)
            #expect(ended.errors.contains("store-secrets-key: "), "\(ended.errors)")
            #expect(ended.errors.contains("under the key \(id), which is not there"), "\(ended.errors)")
            #expect(!ended.errors.contains("listening on"))
        }
        let after = try await withServedDaemon(
            database: database, environment: ["ROUTERD_SECRETS_KEY_FILE": right]
        ) { daemon in
            try await daemon.session("win-1").bytes
        }
        #expect(after == before)
    }

    @Test func withoutAKeyItIsSaidOnce() async throws {
        let directory = try TemporaryDirectory()
        let words = "no secrets.keyFile: the secrets of endpoints are kept in the database as they are"
        let (program, _) = try await ServedDaemon.start(database: directory.file("routerd.sqlite"))
        program.send(SIGTERM)
        #expect(try await program.ended().errors.components(separatedBy: words).count == 2)
        let keys = try directory.write(TestKeyring.key(1), to: "keys")
        let plain = try directory.write("{}", to: "plain.yaml")
        let sealed = try directory.write("secrets: {keyFile: \(keys)}", to: "sealed.yaml")
        #expect(try await Program.run("check", "--config", plain).output.components(separatedBy: words).count == 2)
        let silent = try await Program.run("check", "--config", sealed)
        #expect(silent.status == 0 && !silent.output.contains(words))
        let faulty = try directory.write("secrets:\n  keyFile: \(plain)\n", to: "faulty.yaml")
        let ended = try await Program.run("check", "--config", faulty)
        #expect(ended.status == 1 && ended.errors.hasPrefix("\(faulty):2:12: /secrets/keyFile: "), "\(ended.errors)")
    }

    /// `receive` knows a secret and a public key, and says which of them has signed.
    @Test func receiveVerifiesBothVersions() async throws {
        let known = [
            "--secret", "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX", "--secret", Self.secrets[1], "--secret",
            "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=",
        ]
        let receiver = try Program(["receive", "--listen", "127.0.0.1:0", "--json"] + known)
        let address = try await receiver.line(beginning: "listening on ")
        let talker = try Program(["receive", "--listen", "127.0.0.1:0"] + known.suffix(2))
        let other = try await talker.line(beginning: "listening on ")
        try await withServedDaemon { daemon in
            _ = try await register(daemon, at: "\(address)/hook")
            _ = try await daemon.call(.delete, "\(TestDaemon.gallery)/sessions/win-2")
            try await daemon.post(about: "a")
            let line = try await receiver.line(beginning: "{")
            let told = try JSONValue(parsing: Array("{\(line)".utf8))
            #expect(told.at("signature") == "valid")
            #expect(told.at("verifiedBy") == [["key": 2, "version": "v1"], ["key": 3, "version": "v1a"]])
            let moved = #"{"endpoint":{"url":"\#(other)/hook"}}"#
            #expect(try await daemon.call(.patch, "\(TestDaemon.gallery)/sessions/win-1", moved).status == 200)
            try await daemon.post(about: "b")
            #expect(try await talker.line(beginning: "dlv_").hasSuffix(" signature valid (v1a by key 1)"))
        }
        for program in [receiver, talker] {
            program.send(SIGTERM)
            #expect(try await program.ended().status == 0)
        }
        let refused = try await Program.run("receive", "--secret", Self.secrets[2])
        #expect(refused.status == 2 && refused.errors.contains("private key") && !refused.errors.contains("6Xb/"))
    }
}
