import ArgumentParser
import Router
import RouterPlugin

struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the figures of a running daemon.",
        discussion: """
            `unaccounted` is accepted less all that is settled, waiting or held: anything but 0 is a loss, and the status of the
            command is then 1.

            EXAMPLES
              routerd status
              routerd status --json | jq .notifications
            """)

    @OptionGroup var server: ServerOptions

    func run() async throws {
        let answer = try await server.send(.get, path: "/v1/status")
        let unaccounted = answer["notifications"]?["unaccounted"]?.asInt64 ?? 0
        if !server.json {
            for line in Table.aligned([], Self.rows(answer, "")) { Console.print(line) }
        }
        guard unaccounted == 0 else { throw ExitCode(1) }
    }

    /// The figures a row each, nested ones under dotted names.
    private static func rows(_ value: JSONValue, _ name: String) -> [[String]] {
        switch value {
        case .object(let object):
            object.members.flatMap { rows($0.value, name.isEmpty ? $0.key : "\(name).\($0.key)") }
        case .array(let elements):
            elements.enumerated().flatMap { rows($0.element, "\(name)[\($0.offset)]") }
        case .string(let text): [[name, text]]
        default: [[name, String(decoding: value.serialized(), as: UTF8.self)]]
        }
    }
}
