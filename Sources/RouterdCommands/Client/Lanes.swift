import ArgumentParser
import RouterPlugin

struct Lanes: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the lanes of sessions, and let them try again at once.",
        discussion: """
            EXAMPLES
              routerd lanes
              routerd lanes resume inspector --application com.example.Gallery
            """,
        subcommands: [ListLanes.self, ResumeLane.self], defaultSubcommand: ListLanes.self)
}

struct ListLanes: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the lanes in which something waits or is under way.",
        discussion: """
            EXAMPLES
              routerd lanes
              routerd lanes list --application com.example.Gallery --wide
            """)

    @OptionGroup var server: ServerOptions
    @Option(help: "Only those of this application; left out, ROUTERD_APPLICATION, or all.")
    var application: String?
    @OptionGroup var table: TableOptions

    func run() async throws {
        let name = application ?? Environment["ROUTERD_APPLICATION"]
        let lanes = try await server.list("/v1/lanes", [("application", name)], of: "lanes")
        guard !server.json else { return }
        let columns = [
            "application", "session", "waiting", "inFlight", "attempts", "nextAttemptAt", "breaker.state",
            "breaker.reason", "breaker.gatedUntil", "waitsFor", "disabled",
        ]
        Table(columns, of: lanes, wide: table.wide).show(nothing: "No lane has anything to deliver.")
    }
}

struct ResumeLane: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Try the next notification of a session's lane at once.",
        discussion: """
            A session that its endpoint's 410 has disabled takes part again. Without a session, the delegate's lane.

            EXAMPLES
              routerd lanes resume inspector --application com.example.Gallery
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var application: ApplicationOption
    @Argument(help: "The session.")
    var session: String?

    func run() async throws {
        let path =
            session.map { "/v1/lanes/\(encoded($0))/resume?application=\(encoded(application.application))" }
            ?? "\(application.path)/delegate/resume"
        let answer = try await server.send(path: path)
        guard !server.json else { return }
        let (waiting, inFlight) = (answer["waiting"]?.asInt64 ?? 0, answer["inFlight"]?.asInt64 ?? 0)
        Console.print("\(session ?? "delegate") resumed: \(waiting) waiting, \(inFlight) in flight")
    }
}
