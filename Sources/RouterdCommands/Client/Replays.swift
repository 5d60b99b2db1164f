import ArgumentParser
import Router
import RouterPlugin

struct Replays: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send again all settled notifications that a filter shows.",
        discussion: """
            EXAMPLES
              routerd replays start --state deadLettered --dry-run
              routerd replays start --state deadLettered --per-second 50
              routerd replays
            """,
        subcommands: [ListReplays.self, StartReplay.self, ShowReplay.self, CancelReplay.self],
        defaultSubcommand: ListReplays.self)

    static let columns = ["id", "state", "matched", "replayed", "skipped", "perSecond", "createdAt", "endedAt"]
}

struct ListReplays: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the replays.",
        discussion: """
            EXAMPLES
              routerd replays
              routerd replays list --json | jq '.replays[].state'
            """)

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
        commandName: "start", abstract: "Begin a replay; each notification gets a new decision.",
        discussion: """
            EXAMPLES
              routerd replays start --state deadLettered --dry-run
              routerd replays start --state deadLettered --per-second 50 --wait
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var filter: NotificationFilterOptions
    @Option(parsing: .unconditional, help: "The greatest number of notifications a second.")
    var perSecond: Int?
    @Flag(help: "Only count the notifications.")
    var dryRun = false
    @Flag(help: "Wait until the replay ends, and show its progress.")
    var wait = false

    /// The pause between two looks at a replay that is waited for.
    private static let pollMilliseconds = 200

    func validate() throws {
        if dryRun, wait { throw ValidationError("--dry-run begins no replay that --wait could wait for.") }
    }

    func run() async throws {
        let body = JSONWriter.object { body in
            for term in filter.terms { if let value = term.value { body.field(term.name, value) } }
            if let perSecond { body.field("perSecond", perSecond) }
            if dryRun { body.field("dryRun", true) }
        }
        let answer = try await server.send(path: "/v1/replays", body: body, isQuiet: wait)
        let count = answer["matched"]?.asInt64 ?? 0
        if !server.json {
            let id = answer["id"]?.asString ?? ""
            Console.print(dryRun ? "\(count) would be sent again" : "\(id) of \(count) begins")
        }
        if wait, let id = answer["id"]?.asString { try await follow(id) }
    }

    /// Looks at the replay until it ends; the status is 1 unless it is completed.
    private func follow(_ id: String) async throws {
        while true {
            let now = try await server.send(.get, path: "/v1/replays/\(encoded(id))", isQuiet: true)
            let state = now["state"]?.asString ?? ""
            func count(_ name: String) -> Int64 { now[name]?.asInt64 ?? 0 }
            let figures = "\(count("replayed")) of \(count("matched")) sent, \(count("skipped")) skipped"
            guard state == "running" else {
                Terminal.progress("")
                if server.json { Console.print(now.serialized()) } else { Console.print("\(state): \(figures)") }
                guard state == "completed" else { throw ExitCode(1) }
                return
            }
            Terminal.progress(figures)
            try await Task.sleep(for: .milliseconds(Self.pollMilliseconds))
        }
    }
}

struct ShowReplay: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Print a replay as JSON.",
        discussion: """
            EXAMPLES
              routerd replays show rpl_… | jq '{state, replayed, matched}'
            """)

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
        commandName: "cancel", abstract: "End a replay; notifications that it has sent stay sent.",
        discussion: """
            EXAMPLES
              routerd replays cancel rpl_…
            """)

    @OptionGroup var server: ServerOptions
    @Argument(help: "The replay's id.")
    var replay: String

    func run() async throws {
        let answer = try await server.send(path: "/v1/replays/\(encoded(replay))/cancel")
        if !server.json { Console.print("\(replay) \(answer["state"]?.asString ?? "")") }
    }
}
