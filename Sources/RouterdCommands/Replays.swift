import ArgumentParser
import Router
import RouterPlugin

struct Replays: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send again all settled notifications that a filter shows.",
        discussion: """
            EXAMPLES
              routerd replays start --state deadLettered --since 2026-01-02T00:00:00Z --dry-run
              routerd replays start --state deadLettered --per-second 50
              routerd replays
            """,
        subcommands: [ListReplays.self, StartReplay.self, ShowReplay.self, CancelReplay.self],
        defaultSubcommand: ListReplays.self)

    static let columns = ["id", "state", "matched", "replayed", "skipped", "perSecond", "createdAt", "endedAt"]
}

struct ListReplays: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the replays.")

    @OptionGroup var server: ServerOptions
    @OptionGroup var table: TableOptions

    func run() async throws {
        let replays = try await server.list("/v1/replays", [], of: "replays")
        guard !server.json else { return }
        Table(Replays.columns, of: replays, wide: table.wide).show(nothing: "There is no replay.")
    }
}

struct StartReplay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "start", abstract: "Begin a replay; each notification is decided anew.")

    @OptionGroup var server: ServerOptions
    @OptionGroup var filter: NotificationFilterOptions
    @Option(help: "The greatest number of notifications a second.")
    var perSecond: Int?
    @Flag(help: "Only count the notifications.")
    var dryRun = false

    func run() async throws {
        let body = JSONWriter.object { body in
            for term in filter.terms { if let value = term.value { body.field(term.name, value) } }
            if let perSecond { body.field("perSecond", perSecond) }
            if dryRun { body.field("dryRun", true) }
        }
        let answer = try await server.send(path: "/v1/replays", body: body)
        guard !server.json else { return }
        let count = answer["matched"]?.asInt64 ?? 0
        Console.print(dryRun ? "\(count) would be sent again" : "\(answer["id"]?.asString ?? "") of \(count) begins")
    }
}

struct ShowReplay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Print a replay as JSON.")

    @OptionGroup var server: ServerOptions
    @Argument(help: "The replay's id.")
    var replay: String

    func run() async throws {
        let answer = try await server.send(.get, path: "/v1/replays/\(encoded(replay))")
        if !server.json { Console.print(indented: answer) }
    }
}

struct CancelReplay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel", abstract: "End a replay; notifications that it has sent stay sent.")

    @OptionGroup var server: ServerOptions
    @Argument(help: "The replay's id.")
    var replay: String

    func run() async throws {
        let answer = try await server.send(path: "/v1/replays/\(encoded(replay))/cancel")
        if !server.json { Console.print("\(replay) \(answer["state"]?.asString ?? "")") }
    }
}
