import ArgumentParser
import Foundation
import Glibc
import Router
import RouterPlugin
import RouterdApp
import RouterdClient

struct Attach: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make a shell command the receiver of a scene session.",
        discussion: """
            The session is registered as one that connects out. The command runs once for each delivery, life-cycle events among them, with the message on \
            its standard input and ROUTERD_DELIVERY, ROUTERD_ATTEMPT and ROUTERD_TYPE in its environment. Exit status 0 \
            acknowledges the delivery, and a JSON object on standard output is the answer; another status refuses it, and it \
            comes again. A second receiver of the session takes over, and this one ends.

            EXAMPLES
              routerd attach --session agent --exec 'jq -r .type'
              routerd attach --session agent --allowing agent/ --exec ./handle.sh
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var target: ApplicationOption
    @Option(help: "The session to register and to receive for.")
    var session: String
    @Option(help: "The command, run by /bin/sh.")
    var exec: String
    @Option(help: "A text in the ids of all content that the session can show; may be given several times.")
    var allowing: [String] = []
    @Option(help: "A text in the ids of content that the session prefers; may be given several times.")
    var preferring: [String] = []
    @Option(help: "The activation state of the session.")
    var state = "foregroundActive"
    @Option(help: "A delivery that the command refuses comes again after this many seconds, or later by its schedule.")
    var retryAfter: Int?
    @Option(parsing: .unconditional, help: "End after this number of deliveries.")
    var count: Int?

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count must be 1 or more.") }
        if let retryAfter, retryAfter < 0 { throw ValidationError("--retry-after must be 0 or more.") }
    }

    func run() async throws {
        // A command may end before it has read its input.
        signal(SIGPIPE, SIG_IGN)
        let path = "\(target.path)/sessions/\(encoded(session))"
        let client = try APIClient(server: server.server, key: server.key)
        defer { client.close() }
        let put = try await client.send(.put, path, body: registration)
        guard put.status < 300 else { throw Self.failure(put.status, put.body) }
        let stream = StreamClient(server: server.server, path: "\(path)/deliveries", key: server.key)
        var reader = EventStreamReader()
        var (taken, closing) = (0, String?.none)
        while true {
            let end = stream.follow(&reader) {
                Console.error("receiving for \(session)")
            } take: { event in
                if event.type == "superseded" { closing = "another receiver has taken over" }
                if event.type == "ended" { closing = "the session was discarded, or has a URL" }
                guard event.type == "delivery" else { return closing == nil }
                do throws(JSONError) {
                    handle(try JSONValue(parsing: event.data, limits: .streamed), below: path, client)
                } catch {
                    Console.error("a delivery is not JSON that can be read: \(error)")
                    return true
                }
                taken += 1
                return taken != count
            }
            switch end {
            case .enough:
                guard let closing else { return }
                Console.error(closing)
                throw ExitCode(1)
            case .refused(let status, let body): throw Self.failure(status, body)
            case .lost(let reason, let seconds):
                Console.error("the connection is lost (\(reason)); it is made again")
                sleep(UInt32(seconds))
            }
        }
    }

    private var registration: [UInt8] {
        JSONWriter.object { body in
            body.object("endpoint") { $0.field("stream", true) }
            body.field("activationState", state)
            guard !preferring.isEmpty || !allowing.isEmpty else { return }
            body.object("activationConditions") { conditions in
                for (name, texts) in [("allowing", allowing), ("preferring", preferring)] where !texts.isEmpty {
                    conditions.array(name) { list in for text in texts { list.element(text) } }
                }
            }
        }
    }

    /// Runs the command, and tells the daemon what became of the delivery.
    private func handle(_ delivery: JSONValue, below path: String, _ client: APIClient) {
        guard let id = delivery["id"]?.asString else { return }
        let envelope = delivery["envelope"] ?? .null
        let result = Self.run(
            exec, input: envelope.serialized(),
            environment: [
                "ROUTERD_DELIVERY": id, "ROUTERD_ATTEMPT": String(delivery["attempt"]?.asInt64 ?? 1),
                "ROUTERD_TYPE": envelope["type"]?.asString ?? "",
            ])
        let isTaken = result.status == 0
        let refusal = JSONWriter.object { body in
            body.field("reason", "The command has ended with status \(result.status).")
            if let retryAfter { body.field("retryAfterSeconds", Int64(retryAfter)) }
        }
        let isAnswer = (try? JSONValue(parsing: result.output))?.asObject != nil
        if !isAnswer, !result.output.isEmpty { Console.print(result.output) }
        let body = isTaken ? (isAnswer ? result.output : []) : refusal
        let isAnswered = DispatchSemaphore(value: 0)
        client.post("\(path)/deliveries/\(encoded(id))/\(isTaken ? "ack" : "nack")", body: body) { outcome in
            if case .response(let response) = outcome, response.status < 300 {
                isAnswered.signal()
                return
            }
            Console.error("\(id) could not be \(isTaken ? "acknowledged" : "refused"); it comes again")
            isAnswered.signal()
        }
        isAnswered.wait()
    }

    private static func run(
        _ command: String, input: [UInt8], environment: [String: String]
    ) -> (status: Int32, output: [UInt8]) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", command]
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let (stdin, stdout) = (Pipe(), Pipe())
        (process.standardInput, process.standardOutput) = (stdin, stdout)
        do { try process.run() } catch { return (127, []) }
        DispatchQueue.global().async {
            try? stdin.fileHandleForWriting.write(contentsOf: input)
            try? stdin.fileHandleForWriting.close()
        }
        let output = stdout.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, Array(output))
    }

    private static func failure(_ status: Int, _ body: [UInt8]) -> ExitCode {
        let problem = (try? JSONValue(parsing: body)) ?? .null
        Console.error("\(status) \(problem["code"]?.asString ?? ""): \(problem["detail"]?.asString ?? "")")
        return ExitCode(1)
    }
}
