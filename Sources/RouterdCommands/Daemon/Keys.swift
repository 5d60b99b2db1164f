import ArgumentParser
import Router
import RouterPlugin
import RouterdApp

struct Keys: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make keys of the HTTP API.",
        discussion: """
            EXAMPLES
              routerd keys new --name ci --scope ingest --for com.example.Gallery
            """, subcommands: [NewKey.self])
}

struct NewKey: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new", abstract: "Make an API key, and the lines of the configuration that let it in.",
        discussion: """
            The key goes to the client and is shown this once; the configuration holds its SHA-256 alone. Nothing is sent to a
            daemon: put the lines into its configuration and start it again.

            EXAMPLES
              routerd keys new --name ci --scope ingest --for com.example.Gallery
              routerd keys new --name operator --scope admin --json
            """)

    @Option(help: "The name of the key, as logs show it.")
    var name: String
    @Option(help: "ingest, sessions or admin; may be given several times.")
    var scope: [String]
    @Option(name: .customLong("for"), help: "The one application that the key is for; left out, all.")
    var application: String?
    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        guard !name.isEmpty else { throw ValidationError("--name must not be empty.") }
        for word in scope where APIScope(rawValue: word) == nil {
            let known = APIScope.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("--scope must be one of \(known); '\(word)' is not one.")
        }
        if let application {
            do { _ = try ApplicationID(application) } catch { throw ValidationError("--for: \(error)") }
        }
    }

    func run() throws {
        var generator = SystemRandomNumberGenerator()
        let key = APIKey.fresh(using: &generator)
        let digest = APIKey.digest(of: key).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
        guard !json else {
            return Console.print(
                JSONWriter.object { object in
                    object.field("key", key)
                    object.object("entry") { entry in
                        entry.field("name", name)
                        entry.array("scopes") { list in for word in scope { list.element(word) } }
                        if let application { entry.field("application", application) }
                        entry.field("sha256", digest)
                    }
                })
        }
        Console.print("key (shown this once): \(key)")
        Console.print("")
        Console.print("apiKeys:")
        // JSON's strings are YAML's too, whatever the name holds.
        Console.print("  - name: \(String(decoding: JSONValue.string(name).serialized(), as: UTF8.self))")
        Console.print("    scopes: [\(scope.joined(separator: ", "))]")
        if let application { Console.print("    application: \(application)") }
        Console.print("    sha256: \(digest)")
    }
}
