import ArgumentParser
import Router
import RouterPlugin
import RouterdApp

struct Gates: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show where the gates of an application stand, and reset one.",
        discussion: """
            EXAMPLES
              routerd gates --application com.example.Gallery
              routerd gates show --device till-3
            """,
        subcommands: [ListGates.self, ShowGate.self, ShowPasscode.self, CheckPasscode.self, ResetGate.self],
        defaultSubcommand: ListGates.self)
}

/// The options that name a gate.
struct GateOptions: ParsableArguments {
    @OptionGroup var application: ApplicationOption
    @Option(help: "The device; left out, the gate of all sessions without one.")
    var device: String?

    var path: String { "\(application.path)/gate" }
}

struct ListGates: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the gates at which something has happened.",
        discussion: """
            EXAMPLES
              routerd gates --application com.example.Gallery --wide
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var application: ApplicationOption
    @OptionGroup var table: TableOptions

    func run() async throws {
        let gates = try await server.list("\(application.path)/gates", [], of: "gates")
        guard !server.json else { return }
        Table(["device", "state", "responsible", "term", "held"], of: gates, wide: table.wide)
            .show(nothing: "Nothing has happened at a gate.")
    }
}

struct ShowGate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Print a gate as JSON, with the texts of its welcome screen.",
        discussion: """
            EXAMPLES
              routerd gates show --device till-3 | jq .state
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var gate: GateOptions

    func run() async throws {
        let query = gate.device.map { "?device=\(encoded($0))" } ?? ""
        let answer = try await server.send(.get, path: gate.path + query)
        if !server.json { Console.print(indented: answer) }
    }
}

struct ResetGate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: "Forget the person at a gate, with the passcode, and begin onboarding again.",
        discussion: """
            EXAMPLES
              routerd gates reset --application com.example.Gallery --device till-3
            """
    )

    @OptionGroup var server: ServerOptions
    @OptionGroup var gate: GateOptions

    func run() async throws {
        let body = JSONWriter.object { $0.field("device", gate.device) }
        let answer = try await server.send(path: "\(gate.path)/reset", body: body)
        if !server.json { Console.print("\(answer["state"]?.asString ?? "") term \(answer["term"]?.asInt64 ?? 0)") }
    }
}
