import ArgumentParser
import Logging
import Plugins
import RouterPlugin
import RouterdApp

struct Receive: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Receive webhooks, verify their signatures, and print them.",
        discussion: """
            Webhooks that none of the keys has signed are answered 401, all others with --status. Keys are counted from 1 in \
            the order in which they are given.

            With --ui, http://HOST:PORT/ shows each webhook to browsers of this machine: headers, signature and body. The page \
            sets the answers to the next webhooks, with a delay or Retry-After, and sends a webhook again. The path /_inspector/ \
            is that of the page; a POST to any other path is a webhook. Other requests are refused, and a line says so.

            EXAMPLES
              routerd receive --listen 127.0.0.1:9000
              routerd receive --secret whsec_… --json | jq .type
              routerd receive --status 503
              routerd receive --ui
            """)

    @Option(help: "Where to listen: HOST:PORT; port 0 picks a free one.")
    var listen = "127.0.0.1:9000"
    @Option(
        help: "A secret, whsec_…, or a public key, whpk_…; may be given several times. With none, nothing is checked.")
    var secret: [String] = []
    @Option(help: "The status to answer with.")
    var status = 204
    @Flag(help: "Print one JSON line a webhook.")
    var json = false
    @Flag(help: "Show the webhooks on a page, too.")
    var ui = false

    func run() async throws {
        let address = try ListenAddress(option: "--listen", listen)
        let keys: [WebhookVerificationKey]
        do { keys = try secret.map { try WebhookVerificationKey($0) } } catch { throw ValidationError("\(error)") }
        let logger = LogFormat.text.logger("routerd.receive", at: .warning) { Console.error($0) }
        let asJSON = json
        let versions = keys.map(\.version)
        let inspector = ui ? try Inspector(keys: keys, usual: WebhookAnswer(status: status)) : nil
        let receiver = ReceiverApp(
            address: address, keys: keys, status: status, inspector: inspector,
            onRefused: { Console.error("refused \($0.status): \($0.method) \($0.target)") },
            onReceived: { received in
                Console.print(asJSON ? received.json(versions) : Array(received.line(versions).utf8))
            })
        do {
            try await receiver.run(logger: logger) { port in
                Console.error("listening on http://\(address.shown(port: port))")
                if inspector != nil { Console.error("inspect at http://\(address.shown(port: port))\(Inspector.path)") }
            }
        } catch {
            guard let failure = ListenFailure(error, at: address) else { throw error }
            Console.error("\(failure)")
            throw ExitCode(1)
        }
    }
}

extension ReceiverApp.Received {
    /// - Parameter versions: The version that each of the keys verifies.
    fileprivate func line(_ versions: [String]) -> String {
        let keys = (verifiedBy ?? []).map { "\(versions[$0]) by key \($0 + 1)" }.joined(separator: ", ")
        return "\(webhookID) attempt \(attempt) \(type) \(path) signature \(signature)"
            + (keys.isEmpty ? "" : " (\(keys))") + "\n" + Self.shown(body)
    }

    /// A body that is JSON is indented; another one is shown as it is.
    private static func shown(_ body: [UInt8]) -> String {
        let value = try? JSONValue(parsing: body, limits: .received)
        return String(decoding: value?.indented() ?? body, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false).map { "  \($0)" }.joined(separator: "\n")
    }

    /// - Parameter versions: The version that each of the keys verifies.
    fileprivate func json(_ versions: [String]) -> [UInt8] {
        JSONWriter.object { object in
            object.field("webhookId", webhookID)
            object.field("attempt", attempt)
            object.field("type", type)
            object.field("path", path)
            object.field("signature", signature)
            object.array("verifiedBy") { list in
                for place in verifiedBy ?? [] {
                    list.object {
                        $0.field("key", place + 1)
                        $0.field("version", versions[place])
                    }
                }
            }
            object.field("body", String(decoding: body, as: UTF8.self))
        }
    }
}
