import ArgumentParser
import Glibc
import Router
import RouterPlugin
import RouterdClient

struct Attach: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make a shell command the receiver of a scene session.",
        discussion: """
            The session is registered as one that connects out. The command runs once for each delivery, life-cycle events among them, with the message on \
            its standard input and ROUTERD_DELIVERY, ROUTERD_ATTEMPT and ROUTERD_TYPE in its environment. Exit status 0 \
            acknowledges the delivery, and a JSON object on standard output is the answer; another status refuses it, and it \
            comes again. The command ends when the shell does, whatever it leaves behind. A state of the foreground is \
            told again with each connection. A second receiver of the session takes over, and this one ends.

            EXAMPLES
              routerd attach --session agent --exec 'jq -r .type'
              routerd attach --session agent --allowing agent/ --exec ./handle.sh
              routerd attach --session desk --shows doc/7 --exec ./show.sh
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
    @Option(help: "The id of a content that the session prefers, compared as a whole; may be given several times.")
    var shows: [String] = []
    @Option(help: "The activation state of the session.")
    var state = "foregroundActive"
    @Option(help: "The place of waiting deliveries while this program is away: next, another session, or wait.")
    var whileAway: String?
    @Option(help: "A delivery that the command refuses comes again after this many seconds, or later by its schedule.")
    var retryAfter: Int?
    @Option(parsing: .unconditional, help: "End after this number of deliveries.")
    var count: Int?

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count must be 1 or more.") }
        if let retryAfter, !(0...RouterLimits.retryAfterSeconds).contains(retryAfter) {
            throw ValidationError("--retry-after must be 0 to \(RouterLimits.retryAfterSeconds).")
        }
        guard shows.isEmpty || preferring.isEmpty else {
            throw ValidationError("--shows and --preferring are two ways to say what the session prefers.")
        }
        if let whileAway, WhileAway(rawValue: whileAway) == nil {
            throw ValidationError("--while-away must be next or wait.")
        }
        do { _ = try SessionID(session) } catch { throw ValidationError("--session: \(error)") }
        do { _ = try ApplicationID(target.application) } catch { throw ValidationError("--application: \(error)") }
    }

    func run() async throws {
        // A command may end before it has read its input.
        signal(SIGPIPE, SIG_IGN)
        do {
            let daemon = try RouterdServer(server.server, key: server.key)
            let receiver = SceneReceiver(
                of: try SessionID(session), in: try ApplicationID(target.application), on: daemon)
            try await receiver.register(fields)
            try await receiver.run(limit: count, notes: notes, onLoss: Self.tell(loss:before:)) { [exec, retryAfter] in
                await Self.handle($0, by: exec, retryAfter: retryAfter)
            }
        } catch let error as RouterdClientError {
            let isOwn = error.status == nil
            Console.error(isOwn && error.code != "connection-lost" ? error.detail : "\(error)")
            throw ExitCode(1)
        } catch {
            Console.error("\(server.server) cannot be reached: \(error)")
            throw ExitCode(1)
        }
    }

    private var notes: ReceiverNotes {
        var notes = ReceiverNotes()
        let name = session
        notes.connected = { Console.error("receiving for \(name)") }
        notes.unusable = { delivery, error in
            Console.error("\(delivery.id) was settled without the words of the command, which cannot be used: \(error)")
        }
        return notes
    }

    private static func tell(loss: any Error, before _: Duration) {
        Console.error("the connection is lost (\(loss)); it is made again")
    }

    /// The fields of the session.
    private var fields: [String: JSONValue] {
        var fields: [String: JSONValue] = ["activationState": .string(state)]
        var conditions = JSONObject()
        for (name, texts) in [("allowing", allowing), ("preferring", preferring)] where !texts.isEmpty {
            conditions[name] = .array(texts.map { .string($0) })
        }
        if !shows.isEmpty {
            let format = Array(repeating: "SELF == %@", count: shows.count).joined(separator: " OR ")
            conditions["prefersToActivateForTargetContentIdentifierPredicate"] = [
                "format": .string(format), "arguments": .array(shows.map { .string($0) }),
            ]
        }
        if let whileAway { fields["whileAway"] = .string(whileAway) }
        if !conditions.isEmpty { fields["activationConditions"] = .object(conditions) }
        return fields
    }

    /// Runs the command; its status and its output are the answer.
    private static func handle(_ delivery: Delivery, by text: String, retryAfter: Int?) async -> DeliveryAnswer {
        let command = ShellCommand(
            text: text,
            environment: [
                "ROUTERD_DELIVERY": delivery.id, "ROUTERD_ATTEMPT": String(delivery.attempt),
                "ROUTERD_TYPE": delivery.type,
            ])
        let result = await command.run(input: delivery.envelope.serialized())
        let answer = (try? JSONValue(parsing: result.output)).flatMap { $0.asObject == nil ? nil : $0 }
        if answer == nil, !result.output.isEmpty { Console.print(result.output) }
        guard result.status == 0 else {
            return .refused(
                reason: "The command has ended with status \(result.status).", retryAfterSeconds: retryAfter)
        }
        return answer.map { .answered($0) } ?? .acknowledged
    }
}
