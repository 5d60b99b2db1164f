import ArgumentParser
import Foundation
import Router
import RouterPlugin
import RouterdApp

/// The options of commands that send a set.
struct SetOptions: ParsableArguments {
    @Option(
        name: .shortAndLong,
        help: "A file of documents in YAML or JSON; - is standard input. May be given several times.")
    var file: [String]
    @Option(help: "The name of the set, which says what --prune may delete.")
    var set = "default"
    @Flag(help: "Delete resources that the set held before and does not name any more.")
    var prune = false

    func validate() throws {
        guard !file.isEmpty else { throw ValidationError("Name a file with -f.") }
    }

    /// The documents of all files, one after another.
    func text() throws -> [UInt8] {
        var text: [UInt8] = []
        for (place, name) in file.enumerated() {
            if place > 0 { text += Array("\n---\n".utf8) }
            text += try Console.read(argument: name)
        }
        return text
    }

    /// Sends the set; returns whether it changes anything.
    func send(by server: ServerOptions, isDryRun: Bool) async throws -> Bool {
        let query = ServerOptions.query([
            ("set", set), ("prune", prune ? "true" : nil), ("dryRun", isDryRun ? "true" : nil),
        ])
        let answer = try await server.send(path: "/v1/apply" + query, body: try text())
        let changes = answer["changes"]?.asArray ?? []
        if !server.json { for change in changes { Self.show(change) } }
        let counts = Dictionary(grouping: changes) { $0["action"]?.asString ?? "" }.mapValues(\.count)
        if !server.json {
            let words = ["create", "update", "delete", "unchanged"].compactMap { action in
                counts[action].map { "\($0) \(action)" }
            }
            Console.print((isDryRun ? "would be: " : "") + (words.isEmpty ? "nothing" : words.joined(separator: ", ")))
        }
        return changes.contains { $0["action"] != "unchanged" }
    }

    private static func show(_ change: JSONValue) {
        let action = change["action"]?.asString ?? ""
        guard action != "unchanged" else { return }
        let colour: Terminal.Colour = action == "create" ? .good : action == "delete" ? .bad : .pending
        let name = ["application", "id"].compactMap { change[$0]?.asString }.joined(separator: "/")
        Console.print("\(Terminal.paint(action, colour)) \(change["kind"]?.asString ?? "") \(name)")
        for field in change["fields"]?.asArray ?? [] {
            func text(_ value: JSONValue?) -> String {
                value.map { String(decoding: $0.serialized(), as: UTF8.self) } ?? "nothing"
            }
            Console.print("  \(field["field"]?.asString ?? ""): \(text(field["before"])) → \(text(field["after"]))")
        }
        if let secret = change["secret"]?.asString { Console.print("  secret (shown this once): \(secret)") }
    }
}

struct Apply: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Apply a set of applications, sessions and sources from files.",
        discussion: """
            A set is applied whole: one fault changes nothing, and is told with its document, line and column. Applied again it changes
            nothing. The live state of sessions is left alone. The status is 0 when the set is applied, and 1 when it is refused; with
            --dry-run or --exit-status it is 3 where something changes and 0 where nothing does.

            EXAMPLES
              routerd apply -f gallery.yaml
              routerd apply -f gallery.yaml -f sources.yaml --set gallery --prune --dry-run
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var set: SetOptions
    @Flag(help: "Show the changes and make none.")
    var dryRun = false
    @Flag(help: "End with status 3 if something has changed.")
    var exitStatus = false

    func run() async throws {
        let changes = try await set.send(by: server, isDryRun: dryRun)
        if changes, dryRun || exitStatus { throw ExitCode(3) }
    }
}

struct Diff: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show what a set would change, field by field.",
        discussion: """
            The status is 0 if nothing would change, 3 if something would, and 1 if the set is refused.

            EXAMPLES
              routerd diff -f gallery.yaml
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var set: SetOptions

    func run() async throws {
        if try await set.send(by: server, isDryRun: true) { throw ExitCode(3) }
    }
}

struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Write the applications, sessions and sources of a daemon as a set.",
        discussion: """
            Secrets are not part of it, and are kept where the set is applied again. With --json the documents are JSON.

            EXAMPLES
              routerd export > all.yaml
              routerd export --application com.example.Gallery --without-sessions
            """)

    @OptionGroup var server: ServerOptions
    @Option(help: "Only this application with its sessions and sources.")
    var application: String?
    @Flag(help: "Leave sessions out, which most often register themselves.")
    var withoutSessions = false

    func run() async throws {
        var quiet = server
        quiet.json = false
        let all = try await quiet.list("/v1/applications", [], of: "applications")
        let ids = all.compactMap { $0["id"]?.asString }.filter { application == nil || $0 == application }
        if let application, ids.isEmpty {
            Console.error("There is no application \(application).")
            throw ExitCode(1)
        }
        for id in ids {
            let path = "/v1/applications/\(encoded(id))"
            try write(.application, nil, id, try await quiet.send(.get, path: path))
            guard !withoutSessions else { continue }
            for session in try await quiet.list("\(path)/sessions", [], of: "sessions") {
                try write(.session, id, session["id"]?.asString ?? "", session)
            }
        }
        for source in try await quiet.list("/v1/sources", [("application", application)], of: "sources") {
            try write(.source, source["application"]?.asString, source["id"]?.asString ?? "", source)
        }
    }

    private func write(_ kind: ResourceRef.Kind, _ application: String?, _ id: String, _ body: JSONValue) throws {
        var document = JSONObject()
        document["kind"] = .string(kind.rawValue)
        if kind != .application, let application { document["application"] = .string(application) }
        document["id"] = .string(id)
        document["spec"] = ResourceSpec.specification(body, of: kind)
        if server.json {
            Console.print(JSONValue.object(document).serialized())
        } else {
            Console.print("---")
            Console.print(Array(try YAMLText.write(.object(document)).utf8))
        }
    }
}
