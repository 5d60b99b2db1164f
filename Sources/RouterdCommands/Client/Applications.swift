import ArgumentParser
import Router
import RouterPlugin

struct Applications: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the applications, register and delete them.",
        discussion: """
            EXAMPLES
              routerd applications
              routerd applications put com.example.Gallery '{"displayName": "Gallery"}'
            """,
        subcommands: [ListApplications.self, ShowApplication.self, PutApplication.self, DeleteApplication.self],
        defaultSubcommand: ListApplications.self)
}

struct ListApplications: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the applications.",
        discussion: """
            EXAMPLES
              routerd applications
              routerd applications list --wide
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var table: TableOptions

    func run() async throws {
        let applications = try await server.list("/v1/applications", [], of: "applications")
        guard !server.json else { return }
        Table(["id", "displayName", "activationState"], of: applications, wide: table.wide)
            .show(nothing: "There is no application.")
    }
}

struct ShowApplication: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Print an application as JSON.",
        discussion: """
            EXAMPLES
              routerd applications show com.example.Gallery | jq .delivery
            """)

    @OptionGroup var server: ServerOptions
    @Argument(help: "The application.")
    var application: String

    func run() async throws {
        let answer = try await server.send(.get, path: "/v1/applications/\(encoded(application))")
        if !server.json { Console.print(indented: answer) }
    }
}

struct PutApplication: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put", abstract: "Register an application, or replace its registration.",
        discussion: """
            Prints the answer, which shows each new secret once.

            EXAMPLES
              routerd applications put com.example.Gallery '{"displayName": "Gallery"}'
              routerd applications put com.example.Gallery gallery.json
            """)

    @OptionGroup var server: ServerOptions
    @Argument(help: "The application.")
    var application: String
    @Argument(help: "Its body: JSON text that begins with {, @FILE or FILE, or - for standard input.")
    var body = "{}"

    func run() async throws {
        let bytes = body.hasPrefix("{") ? Array(body.utf8) : try Console.read(argument: body)
        let answer = try await server.send(.put, path: "/v1/applications/\(encoded(application))", body: bytes)
        if !server.json { Console.print(indented: answer) }
    }
}

struct DeleteApplication: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete an application with its sessions and all that waits for them.",
        discussion: """
            EXAMPLES
              routerd applications delete com.example.Gallery
            """)

    @OptionGroup var server: ServerOptions
    @Argument(help: "The application.")
    var application: String

    func run() async throws {
        _ = try await server.send(.delete, path: "/v1/applications/\(encoded(application))")
        if !server.json { Console.print("\(application) deleted") }
    }
}
