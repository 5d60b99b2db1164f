import ArgumentParser
import Foundation
import Logging
import Plugins
import Router
import RouterPlugin
import RouterdApp

/// `routerd apns-sandbox`.
struct Sandbox: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apns-sandbox",
        abstract: "Stand in for APNs in tests of a provider: check pushes as APNs does, and print them.",
        discussion: """
            At the first start it makes a certificate authority and a certificate; let the provider trust ca.pem. A script is a \
            list, in YAML or JSON, of the answers to give instead of 200: token, topic, reason, status, timestamp, times.

            EXAMPLES
              routerd apns-sandbox --listen 127.0.0.1:2197
              routerd apns-sandbox --cleartext --script answers.yaml --json
            """)

    @Option(help: "Where to listen: HOST:PORT; port 0 picks a free one.")
    var listen = "127.0.0.1:2197"
    @Flag(help: "Speak HTTP/2 in clear text, by prior knowledge, and make no certificate.")
    var cleartext = false
    @Option(help: "The folder of the certificates.")
    var certificateDir = ".apns-sandbox"
    @Option(help: "A file with the answers to give.")
    var script: String?
    @Option(
        help:
            "A key of provider tokens: TEAM:KEY:PUBLIC-KEY-FILE; may be given several times. With none, all are taken.")
    var provider: [String] = []
    @Flag(help: "Print one JSON line a push.")
    var json = false

    func run() async throws {
        let address = try ListenAddress(option: "--listen", listen)
        let keys = try provider.map(Self.key)
        let script = try readScript()
        let asJSON = json
        let logger = LogFormat.text.logger("routerd.apns-sandbox", at: .warning) { Console.error($0) }
        let certificates =
            cleartext ? nil : try SandboxCertificates(in: certificateDir, host: address.host, now: Date())
        if let certificates { Console.error("certificate authority: \(certificates.authority)") }
        let sandbox = APNsSandbox(at: address, tls: try certificates?.tls(), keys: keys, script: script) { record in
            Console.print(asJSON ? record.json : Array(record.line.utf8))
        }
        do {
            try await sandbox.run(logger: logger) { Console.error("APNs listening on \($0)") }
        } catch let failure as ListenFailure {
            Console.error("\(failure)")
            throw ExitCode(1)
        }
    }

    private func readScript() throws -> APNsScript {
        guard let script else { return APNsScript() }
        do throws(ConfigurationFaults) {
            return try APNsScript(ConfigurationFile(path: script))
        } catch {
            Console.error("\(error)")
            throw ExitCode(1)
        }
    }

    private static func key(_ text: String) throws -> ProviderKey {
        let parts = text.split(separator: ":", maxSplits: 2).map(String.init)
        guard parts.count == 3 else { throw ValidationError("--provider must be TEAM:KEY:PUBLIC-KEY-FILE.") }
        guard let pem = try? String(contentsOfFile: parts[2], encoding: .utf8),
            let key = ProviderKey(teamID: parts[0], keyID: parts[1], publicKeyPEM: pem)
        else { throw ValidationError("--provider: \(parts[2]) holds no public key on P-256 in PEM form.") }
        return key
    }
}

extension APNsSandbox.Record {
    private var status: Int { refusal?.status ?? 200 }

    fileprivate var line: String {
        let answer = refusal.map { "\($0.status) \($0.reason)" } ?? "200"
        return "\(answer) \(topic) \(token) \(String(decoding: payload, as: UTF8.self))"
    }

    fileprivate var json: [UInt8] {
        JSONWriter.object { object in
            object.field("status", status)
            if let refusal { object.field("reason", refusal.reason) }
            object.field("token", token)
            object.field("topic", topic)
            object.object("headers") { fields in
                var seen: Set<String> = []
                for field in headers where seen.insert(field.name).inserted { fields.field(field.name, field.value) }
            }
            if !payload.isEmpty { object.field("payload", String(decoding: payload, as: UTF8.self)) }
        }
    }
}
