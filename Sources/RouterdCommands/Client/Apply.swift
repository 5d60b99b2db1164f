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
    func files() throws -> SetFiles {
        var files = SetFiles()
        for name in file { try files.append(try Console.read(argument: name), of: name) }
        return files
    }

    /// Sends the set; returns the number of resources by what becomes of them.
    ///
    /// - Parameter isQuiet: Whether nothing is printed but a refusal.
    @discardableResult
    func send(
        _ files: SetFiles, by server: ServerOptions, isDryRun: Bool, isQuiet: Bool = false
    ) async throws -> [String: Int] {
        let query = ServerOptions.query([
            ("set", set), ("prune", prune ? "true" : nil), ("dryRun", isDryRun ? "true" : nil),
        ])
        let answer = try await server.send(
            path: "/v1/apply" + query, body: files.text, isQuiet: isQuiet, sentence: files.faults)
        let changes = answer["changes"]?.asArray ?? []
        let counts = Dictionary(grouping: changes) { $0["action"]?.asString ?? "" }.mapValues(\.count)
        guard !server.json, !isQuiet else { return counts }
        for change in changes { Self.show(change) }
        let words = ["create", "update", "delete", "unchanged"].compactMap { action in
            counts[action].map { "\($0) \(action)" }
        }
        Console.print((isDryRun ? "would be: " : "") + (words.isEmpty ? "nothing" : words.joined(separator: ", ")))
        if let adopted = answer["adopted"]?.asInt64, adopted > 0 {
            Console.print(
                (isDryRun ? "would be " : "") + "taken into the set \(set): \(adopted) that existed outside it; "
                    + "a later --prune of the set deletes resources that it no longer names")
        }
        return counts
    }

    private static func show(_ change: JSONValue) {
        let action = change["action"]?.asString ?? ""
        guard action != "unchanged" else { return }
        let colour: Terminal.Colour = action == "create" ? .good : action == "delete" ? .bad : .pending
        let name = ["application", "id"].compactMap { change[$0]?.asString }.joined(separator: "/")
        Console.print("\(Terminal.paint(action, colour)) \(change["kind"]?.asString ?? "") \(name)")
        for field in change["fields"]?.asArray ?? [] {
            func text(_ value: JSONValue?) -> String {
                guard let value, value != .null else { return "nothing" }
                return String(decoding: value.serialized(), as: UTF8.self)
            }
            let name = field["field"]?.asString ?? ""
            if name == ResourceSpec.secretDifference.pointer {
                Console.print("  \(name): changed (not shown)")
                continue
            }
            Console.print("  \(name): \(text(field["before"])) → \(text(field["after"]))")
        }
        if let secret = change["secret"]?.asString { Console.print("  secret (shown this once): \(secret)") }
    }
}

extension [String: Int] {
    /// Whether anything but unchanged resources is counted.
    fileprivate var changes: Bool { contains { $0.key != "unchanged" && $0.value > 0 } }
}

struct Apply: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Apply a set of applications, sessions, sources and rules from files.",
        discussion: """
            A set is applied whole: one fault changes nothing, and is printed with its file, line and column. Applied again it changes
            nothing. The live state of sessions is left alone. The status is 0 when the set is applied, whether anything changed or
            not, and 1 when it is refused; with --dry-run or --exit-status it is 3 where something changes and 0 where nothing does.

            The documents of kind Rule together take the place of all rules in use; a set without such documents leaves the rules.

            A resource that existed before is taken into the set that names it. --prune deletes what the set held and no longer
            names, and is refused where it would delete more than the set keeps, unless --yes is given.

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
    @Flag(help: "Prune even if that deletes more resources than the set keeps.")
    var yes = false

    func run() async throws {
        let files = try set.files()
        if set.prune, !yes, !dryRun {
            let counts = try await set.send(files, by: server, isDryRun: true, isQuiet: true)
            let deleted = counts["delete"] ?? 0
            let kept = counts.values.reduce(0, +) - deleted
            guard deleted <= kept else {
                Console.error(
                    "--prune would delete \(deleted) and keep \(kept) resources of the set \(set.set); nothing was changed. "
                        + "--dry-run shows them, --yes deletes them.")
                throw ExitCode(1)
            }
        }
        let counts = try await set.send(files, by: server, isDryRun: dryRun)
        if counts.changes, dryRun || exitStatus { throw ExitCode(3) }
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
        if try await set.send(try set.files(), by: server, isDryRun: true).changes { throw ExitCode(3) }
    }
}

struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Write the applications, sessions, sources and rules of a daemon as a set.",
        discussion: """
            Secrets are not part of it, and are kept where the set is applied again. With --json the documents are JSON.

            EXAMPLES
              routerd export > all.yaml
              routerd export --application com.example.Gallery --without-sessions
              routerd export --rules > all.yaml
            """)

    @OptionGroup var server: ServerOptions
    @Option(help: "Only this application with its sessions and sources.")
    var application: String?
    @Flag(help: "Leave sessions out, which most often register themselves.")
    var withoutSessions = false
    @Flag(help: "Write the rules in use too; needs a key of all applications with the scope admin.")
    var rules = false

    func validate() throws {
        guard rules, application != nil else { return }
        throw ValidationError("--rules and --application exclude each other: a set has all rules or none.")
    }

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
        guard rules else { return }
        for rule in try await quiet.send(.get, path: "/v1/rules")["rules"]?.asArray ?? [] {
            try write(ResourceDocuments.document(ofRule: rule))
        }
    }

    private func write(_ kind: ResourceRef.Kind, _ application: String?, _ id: String, _ body: JSONValue) throws {
        var document = JSONObject()
        document["kind"] = .string(kind.rawValue)
        if kind != .application, let application { document["application"] = .string(application) }
        document["id"] = .string(id)
        document["spec"] = ResourceSpec.specification(body, of: kind)
        try write(document)
    }

    private func write(_ document: JSONObject) throws {
        if server.json {
            Console.print(YAMLText.writeJSON(.object(document)))
        } else {
            Console.print("---")
            Console.print(Array(try YAMLText.write(.object(document)).utf8))
        }
    }
}
