import ArgumentParser
import Foundation
import Glibc
import RouterPlugin
import RouterdApp
import RouterdClient

struct Tail: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print what happens, while it happens, until it is interrupted.",
        discussion: """
            A lost connection is made again, and the events of the meantime are printed then. Where the daemon does not have \
            them any more, a line says that there is a gap.

            EXAMPLES
              routerd tail
              routerd tail --application com.example.Gallery --type 'scene.*'
              routerd tail --type notification.accepted --count 1 --json
            """)

    @OptionGroup var server: ServerOptions
    @Option(help: "Only events of this application; may be given several times.")
    var application: [String] = []
    @Option(help: "Only events of this session; may be given several times.")
    var session: [String] = []
    @Option(help: "Only this type, such as notification.accepted or scene.*; may be given several times.")
    var type: [String] = []
    @Option(parsing: .unconditional, help: "End after this number of events.")
    var count: Int?

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count must be 1 or more.") }
    }

    func run() async throws {
        let terms =
            application.map { ("application", $0) } + session.map { ("session", $0) } + type.map { ("type", $0) }
        let query = terms.map { "\($0)=\(encoded($1))" }.joined(separator: "&")
        let client = StreamClient(
            server: server.server, path: "/v1/stream" + (query.isEmpty ? "" : "?\(query)"),
            key: server.key)
        let (asJSON, limit) = (server.json, count)
        var reader = EventStreamReader()
        var (printed, hasConnected) = (0, false)
        while true {
            let end = client.follow(&reader) {
                Console.error(hasConnected ? "following it again" : "following \(server.server)")
                hasConnected = true
            } take: { event in
                Console.print(asJSON ? event.data : Array(Self.line(event).utf8))
                printed += 1
                return printed != limit
            }
            switch end {
            case .enough: return
            case .refused(let status, let body):
                let problem = (try? JSONValue(parsing: body)) ?? .null
                Console.error("\(status) \(problem["code"]?.asString ?? ""): \(problem["detail"]?.asString ?? "")")
                throw ExitCode(1)
            case .lost(let reason, let seconds):
                guard hasConnected else {
                    Console.error("\(server.server) cannot be followed: \(reason)")
                    throw ExitCode(1)
                }
                Console.error("the connection is lost (\(reason)); it is made again")
                sleep(UInt32(seconds))
            }
        }
    }

    /// One line on an event: its time, type and subjects, and its further facts.
    static func line(_ event: EventStreamReader.Event) -> String {
        guard let data = try? JSONValue(parsing: event.data, limits: .streamed), case .object(let object) = data else {
            return event.type
        }
        if event.type == "gap" { return "-- \(data["missed"]?.asInt64.map { "\($0)" } ?? "some") events are missing" }
        let subject = [data["application"], data["session"]].compactMap { $0?.asString }.joined(separator: "/")
        let told = ["id", "type", "time", "application", "session"]
        let rest = object.members.filter { !told.contains($0.key) }.flatMap { words($0.key, $0.value) }
        let type = colour(of: event.type).map { Terminal.paint(event.type, $0) } ?? event.type
        return ([data["time"]?.asString ?? "", type, subject] + rest).joined(separator: " ")
    }

    /// A field as `name=value`; the fields of an object within it under dotted names. Null fields are left out.
    private static func words(_ name: String, _ value: JSONValue) -> [String] {
        switch value {
        case .null: []
        case .string(let text): ["\(name)=\(text)"]
        case .object(let object): object.members.flatMap { words("\(name).\($0.key)", $0.value) }
        default: ["\(name)=\(String(decoding: value.serialized(), as: UTF8.self))"]
        }
    }

    private static func colour(of type: String) -> Terminal.Colour? {
        switch type.split(separator: ".").last {
        case "delivered": .good
        case "deadLettered", "expired", "failed": .bad
        case "accepted", "held", "waiting": .pending
        default: nil
        }
    }
}
