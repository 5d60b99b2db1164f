import ArgumentParser
import Router
import RouterPlugin
import RouterdApp

struct Sessions: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the scene sessions of an application, and move them.",
        discussion: """
            EXAMPLES
              routerd sessions --application com.example.Gallery --state foregroundActive
              routerd sessions put tab '{"endpoint": {"stream": true}}'
              routerd sessions activate inspector
            """,
        subcommands: [
            ListSessions.self, ShowSession.self, PutSession.self, ActivateSession.self, RefreshSession.self,
            DisconnectSession.self,
            DiscardSession.self, RotateSecret.self, TestSession.self,
        ],
        defaultSubcommand: ListSessions.self)
}

/// The options that name a session.
struct SessionOptions: ParsableArguments {
    @OptionGroup var application: ApplicationOption
    @Argument(help: "The session.")
    var session: String

    var path: String { "\(application.path)/sessions/\(encoded(session))" }

    /// One line on the present state of the session.
    func tell(_ answer: JSONValue, _ server: ServerOptions) {
        guard !server.json else { return }
        Console.print("\(answer["id"]?.asString ?? session) \(answer["activationState"]?.asString ?? "")")
    }
}

struct ListSessions: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the sessions.",
        discussion: """
            EXAMPLES
              routerd sessions --application com.example.Gallery
              routerd sessions list --state foregroundActive --device till-3 --wide
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var application: ApplicationOption
    @Option(help: "Only those in this activation state.")
    var state: String?
    @Option(help: "Only those of this device.")
    var device: String?
    @OptionGroup var table: TableOptions

    func run() async throws {
        let sessions = try await server.list(
            "\(application.path)/sessions", [("state", state), ("device", device)], of: "sessions")
        guard !server.json else { return }
        let isFiltered = state != nil || device != nil
        let nothing =
            isFiltered
            ? "No session of \(application.application) matches the options."
            : "The application \(application.application) has no sessions."
        let columns = ["id", "activationState", "applicationScreen", "role", "configuration", "device", "disabled"]
        Table(columns, of: sessions, wide: table.wide).show(nothing: nothing)
    }
}

struct ShowSession: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Print a session as JSON.",
        discussion: """
            EXAMPLES
              routerd sessions show inspector | jq .endpoint
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var session: SessionOptions

    func run() async throws {
        let answer = try await server.send(.get, path: session.path)
        if !server.json { Console.print(indented: answer) }
    }
}

struct PutSession: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put", abstract: "Register a session, or replace its registration.",
        discussion: """
            Prints the answer, which shows a new secret once.

            EXAMPLES
              routerd sessions put tab '{"endpoint": {"stream": true}}'
              routerd sessions put inspector @inspector.json
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var session: SessionOptions
    @Argument(help: "Its body: JSON text that begins with {, @FILE or FILE, or - for standard input.")
    var body: String

    func run() async throws {
        let bytes = body.hasPrefix("{") ? Array(body.utf8) : try Console.read(argument: body)
        let answer = try await server.send(.put, path: session.path, body: bytes)
        if !server.json { Console.print(indented: answer) }
    }
}

struct TestSession: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test", abstract: "Send one signed test webhook to a session's endpoint, and show its outcome.",
        discussion: """
            Nothing is queued, and nothing is tried again. The status is 1 unless the endpoint answers 2xx.

            EXAMPLES
              routerd sessions test inspector
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var session: SessionOptions

    func run() async throws {
        let answer = try await server.send(path: "\(session.path)/test")
        if !server.json { Console.print(indented: answer) }
        guard let status = answer["status"]?.asInt64, (200...299).contains(status) else { throw ExitCode(1) }
    }
}

struct RotateSecret: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate-secret", abstract: "Exchange the secret that signs a session's webhooks.",
        discussion: """
            Prints the answer, which shows the new secret once; the old one signs too for a while.

            EXAMPLES
              routerd sessions rotate-secret inspector
              routerd sessions rotate-secret inspector --overlap-seconds 0 | jq -r .secret
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var session: SessionOptions
    @Option(parsing: .unconditional, help: "Seconds for which the old secret signs too; 0 ends it at once.")
    var overlapSeconds: Int?

    func run() async throws {
        let body = JSONWriter.object { if let overlapSeconds { $0.field("overlapSeconds", overlapSeconds) } }
        let answer = try await server.send(path: "\(session.path)/endpoint/rotate-secret", body: body)
        if !server.json { Console.print(indented: answer) }
    }
}

struct ActivateSession: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "activate", abstract: "Bring the scene of a session to the foreground.",
        discussion: """
            EXAMPLES
              routerd sessions activate inspector
              routerd sessions activate inspector --activity photo-7.json
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var session: SessionOptions
    @Option(help: "A file with the user activity that it is to show; - is standard input.")
    var activity: String?

    func run() async throws {
        var body: [UInt8] = []
        if let activity {
            let document = try Console.read(activity)
            body = JSONWriter.object { $0.raw("userActivity", document) }
        }
        session.tell(try await server.send(path: "\(session.path)/activate", body: body), server)
    }
}

struct RefreshSession: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh", abstract: "Tell a scene to refresh its content.",
        discussion: """
            EXAMPLES
              routerd sessions refresh inspector
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var session: SessionOptions

    func run() async throws {
        session.tell(try await server.send(path: "\(session.path)/refresh"), server)
    }
}

struct DisconnectSession: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disconnect", abstract: "End the scene of a session, and keep the session.",
        discussion: """
            EXAMPLES
              routerd sessions disconnect inspector
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var session: SessionOptions

    func run() async throws {
        session.tell(try await server.send(path: "\(session.path)/disconnect"), server)
    }
}

struct DiscardSession: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "discard", abstract: "End a session for good.",
        discussion: """
            EXAMPLES
              routerd sessions discard inspector
              routerd sessions discard editor --dismissal commit
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var session: SessionOptions
    @Option(help: "How its scene goes: standard, commit or decline.")
    var dismissal = "standard"

    func run() async throws {
        _ = try await server.send(.delete, path: "\(session.path)?dismissal=\(encoded(dismissal))")
        if !server.json { Console.print("\(session.session) discarded") }
    }
}
