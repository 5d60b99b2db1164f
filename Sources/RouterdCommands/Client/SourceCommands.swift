import ArgumentParser
import Foundation
import Router
import RouterPlugin

struct SourceCommands: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "source", abstract: "Configure the ways in of senders, and try them.",
        discussion: """
            EXAMPLES
              routerd source
              routerd source put hooks @hooks.json
              routerd source test hooks --header 'x-github-event: issues' @issue.json
            """,
        subcommands: [
            ListSources.self, ShowSource.self, PutSource.self, TestSource.self, RotateSourceSecret.self,
            DeleteSource.self,
        ], defaultSubcommand: ListSources.self)
}

struct ListSources: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the sources.",
        discussion: """
            EXAMPLES
              routerd source
              routerd source list --application com.example.Gallery --wide
            """)

    @OptionGroup var server: ServerOptions
    @Option(help: "Only those of this application; left out, ROUTERD_APPLICATION, or all.")
    var application: String?
    @OptionGroup var table: TableOptions

    func run() async throws {
        let name = application ?? Environment["ROUTERD_APPLICATION"]
        let sources = try await server.list("/v1/sources", [("application", name)], of: "sources")
        guard !server.json else { return }
        Table(["id", "kind", "application", "contentId", "filter"], of: sources, wide: table.wide)
            .show(nothing: "There is no source.")
    }
}

struct ShowSource: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Print a source as JSON.",
        discussion: """
            EXAMPLES
              routerd source show hooks
            """)

    @OptionGroup var server: ServerOptions
    @Argument(help: "The source.")
    var source: String

    func run() async throws {
        let answer = try await server.send(.get, path: "/v1/sources/\(encoded(source))")
        if !server.json { Console.print(indented: answer) }
    }
}

struct PutSource: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put", abstract: "Configure a source.",
        discussion: """
            EXAMPLES
              routerd source put hooks @hooks.json
              routerd source put hooks @hooks.json
            """)

    @OptionGroup var server: ServerOptions
    @Argument(help: "The source.")
    var source: String
    @Argument(help: "Its body: JSON text that begins with {, @FILE or FILE, or - for standard input.")
    var body: String

    func run() async throws {
        let bytes = body.hasPrefix("{") ? Array(body.utf8) : try Console.read(argument: body)
        let answer = try await server.send(.put, path: "/v1/sources/\(encoded(source))", body: bytes)
        if !server.json { Console.print(indented: answer) }
    }
}

struct TestSource: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test", abstract: "Show each step of a sample request through a source. Nothing is sent or kept.",
        discussion: """
            The status is 1 if a step refuses the request.

            EXAMPLES
              routerd source test hooks --header 'x-github-event: issues' @issue.json
            """)

    @OptionGroup var server: ServerOptions
    @Argument(help: "The source.")
    var source: String
    @Option(name: .shortAndLong, help: "A header as NAME: VALUE; may be given several times.")
    var header: [String] = []
    @Argument(help: "The body: JSON text that begins with {, @FILE or FILE, or - for standard input.")
    var body: String

    func validate() throws {
        for field in header where !field.contains(":") {
            throw ValidationError("--header must be NAME: VALUE; '\(field)' is not one.")
        }
    }

    func run() async throws {
        let bytes = body.hasPrefix("{") ? Array(body.utf8) : try Console.read(argument: body)
        let sample = JSONWriter.object { sample in
            sample.object("headers") { fields in
                for field in header {
                    let parts = field.split(separator: ":", maxSplits: 1)
                    let value = parts.count == 2 ? String(parts[1]) : ""
                    fields.field(String(parts[0]), value.drop { $0 == " " }.description)
                }
            }
            sample.field("bodyBase64", Data(bytes).base64EncodedString())
        }
        let answer = try await server.send(path: "/v1/sources/\(encoded(source))/test", body: sample)
        let steps = answer["steps"]?.asArray ?? []
        if !server.json {
            let rows = steps.map { step in
                ["step", "result", "detail"].map { step[$0]?.asString ?? "" }
            }
            for line in Table.aligned([], rows) { Console.print(line) }
        }
        if steps.contains(where: { $0["result"] == "refused" }) { throw ExitCode(1) }
    }
}

struct RotateSourceSecret: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate-secret", abstract: "Add a secret; earlier ones are good for a while longer.",
        discussion: """
            EXAMPLES
              routerd source rotate-secret hooks
              routerd source rotate-secret hooks --secret s3cret-2 --overlap-seconds 3600
            """)

    @OptionGroup var server: ServerOptions
    @Argument(help: "The source.")
    var source: String
    @Option(help: "The sender's new secret; left out, one is made and shown once.")
    var secret: String?
    @Option(help: "Seconds for which earlier secrets are good; 0 ends them at once.")
    var overlapSeconds: Int?

    func run() async throws {
        let body = JSONWriter.object { body in
            if let secret { body.field("secret", secret) }
            if let overlapSeconds { body.field("overlapSeconds", overlapSeconds) }
        }
        let answer = try await server.send(path: "/v1/sources/\(encoded(source))/rotate-secret", body: body)
        if !server.json { Console.print(indented: answer) }
    }
}

struct DeleteSource: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete a source; its sender is answered 404 from then on.",
        discussion: """
            EXAMPLES
              routerd source delete hooks
            """)

    @OptionGroup var server: ServerOptions
    @Argument(help: "The source.")
    var source: String

    func run() async throws {
        _ = try await server.send(.delete, path: "/v1/sources/\(encoded(source))")
        if !server.json { Console.print("\(source) deleted") }
    }
}
