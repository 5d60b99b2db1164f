import ArgumentParser
import Logging
import Plugins
import RouterPlugin
import RouterdApp

struct Receive: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Receive webhooks, verify their signatures, and print what comes in.",
        discussion: "Webhooks with a wrong signature are answered 401, all others with --status.")

    @Option(help: "Where to listen: HOST:PORT; port 0 picks a free one.")
    var listen = "127.0.0.1:9000"
    @Option(help: "A secret, whsec_…; may be given several times. With none, signatures are not checked.")
    var secret: [String] = []
    @Option(help: "The status to answer with.")
    var status = 204
    @Flag(help: "Print one JSON line a webhook.")
    var json = false

    func run() async throws {
        let address: ListenAddress
        let secrets: [WebhookSecret]
        do {
            address = try ListenAddress(listen)
            secrets = try secret.map { try WebhookSecret($0) }
        } catch {
            throw ValidationError("\(error)")
        }
        var logger = Logger(label: "routerd.receive") { _ in ConsoleLogHandler { Console.error($0) } }
        logger.logLevel = .warning
        let asJSON = json
        let receiver = ReceiverApp(address: address, secrets: secrets, status: status) { received in
            Console.print(asJSON ? received.json : Array(received.line.utf8))
        }
        try await receiver.run(logger: logger) { port in
            Console.error("listening on http://\(address.shown(port: port))")
        }
    }
}

extension ReceiverApp.Received {
    private var signature: String { isVerified.map { $0 ? "valid" : "invalid" } ?? "unchecked" }

    fileprivate var line: String {
        "\(webhookID) attempt \(attempt) \(type) \(path) signature \(signature)\n"
            + "  \(String(decoding: body, as: UTF8.self))"
    }

    fileprivate var json: [UInt8] {
        JSONWriter.object { object in
            object.field("webhookId", webhookID)
            object.field("attempt", attempt)
            object.field("type", type)
            object.field("path", path)
            object.field("signature", signature)
            object.field("body", String(decoding: body, as: UTF8.self))
        }
    }
}
