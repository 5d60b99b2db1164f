import ArgumentParser
import Router
import RouterPlugin
import RouterdApp

struct Sessions: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the scene sessions of an application, and move them.",
        subcommands: [
            ListSessions.self, ShowSession.self, ActivateSession.self, RefreshSession.self, DisconnectSession.self,
            DiscardSession.self,
        ],
        defaultSubcommand: ListSessions.self)
}

/// What names a session on the command line.
struct SessionOptions: ParsableArguments {
    @Option(help: "The application.")
    var application: String
    @Argument(help: "The session.")
    var session: String

    var path: String { "/v1/applications/\(encoded(application))/sessions/\(encoded(session))" }

    /// One line on what has become of the session.
    func tell(_ answer: JSONValue, _ server: ServerOptions) {
        guard !server.json else { return }
        Console.print("\(answer["id"]?.asString ?? session) \(answer["activationState"]?.asString ?? "")")
    }
}

struct ListSessions: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the sessions.")

    @OptionGroup var server: ServerOptions
    @Option(help: "The application.")
    var application: String
    @Option(help: "Only those in this activation state.")
    var state: String?
    @Option(help: "Only those of this device.")
    var device: String?

    func run() async throws {
        let sessions = try await server.list(
            "/v1/applications/\(encoded(application))/sessions", [("state", state), ("device", device)], of: "sessions")
        guard !server.json else { return }
        let columns = ["id", "activationState", "applicationScreen", "role", "configuration", "device", "disabled"]
        for line in table(columns, of: sessions) { Console.print(line) }
    }
}

struct ShowSession: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Print a session as JSON.")

    @OptionGroup var server: ServerOptions
    @OptionGroup var session: SessionOptions

    func run() async throws {
        let answer = try await server.send(.get, path: session.path)
        if !server.json { Console.print(answer.serialized()) }
    }
}

struct ActivateSession: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "activate", abstract: "Bring the scene of a session to the foreground.")

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
        commandName: "refresh", abstract: "Tell a scene to bring up to date what it shows.")

    @OptionGroup var server: ServerOptions
    @OptionGroup var session: SessionOptions

    func run() async throws {
        session.tell(try await server.send(path: "\(session.path)/refresh"), server)
    }
}

struct DisconnectSession: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disconnect", abstract: "End the scene of a session, and keep the session.")

    @OptionGroup var server: ServerOptions
    @OptionGroup var session: SessionOptions

    func run() async throws {
        session.tell(try await server.send(path: "\(session.path)/disconnect"), server)
    }
}

struct DiscardSession: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "discard", abstract: "End a session for good.")

    @OptionGroup var server: ServerOptions
    @OptionGroup var session: SessionOptions
    @Option(help: "How its scene goes: standard, commit or decline.")
    var dismissal = "standard"

    func run() async throws {
        _ = try await server.send(.delete, path: "\(session.path)?dismissal=\(encoded(dismissal))")
        if !server.json { Console.print("\(session.session) discarded") }
    }
}
