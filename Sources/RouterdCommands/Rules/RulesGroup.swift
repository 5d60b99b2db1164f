import ArgumentParser
import Router
import RouterPlugin
import RouterdApp

/// `routerd rules`.
struct RulesGroup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rules", abstract: "Test rules, compare them with those of a daemon, and use them there.",
        discussion: """
            EXAMPLES
              routerd rules test rules.yaml
              routerd rules diff rules.yaml --last 200
              routerd rules put rules.yaml
            """,
        subcommands: [TestRules.self, CompareRules.self, PutRules.self, ShowRules.self, ResetRules.self])
}

struct TestRules: PluginCommand {
    static let configuration = CommandConfiguration(
        commandName: "test", abstract: "Run the tests that stand beside the rules of a file.",
        discussion: """
            The file has the lists "rules" and "tests"; a configuration file is one. No daemon is needed, and remote rules \
            are not asked. The status is 0 if every test passes, and 1 if not.

            EXAMPLES
              routerd rules test rules.yaml
              routerd rules test routerd.yaml --json | jq '.tests[] | select(.passed | not)'
            """)

    @Argument(help: "The file in YAML or JSON.")
    var file: String
    @Flag(help: "Print JSON.")
    var json = false

    func run(with plugins: PluginSet) async throws {
        let read: RulesFile
        do {
            read = try RulesFile(try ConfigurationFile(path: file), kinds: plugins.rules)
        } catch {
            if json { Console.print(error.json) } else { Console.error("\(error)") }
            throw ExitCode(1)
        }
        let results = read.tests.map { (name: $0.name, differences: $0.differences(under: read.rules)) }
        let failed = results.count { !$0.differences.isEmpty }
        if json {
            let tests = results.map { result -> JSONValue in
                [
                    "name": .string(result.name), "passed": .bool(result.differences.isEmpty),
                    "differences": .array(result.differences.map(JSONValue.string)),
                ]
            }
            Console.print(indented: ["passed": .bool(failed == 0), "tests": .array(tests)])
        } else {
            for result in results {
                Console.print("\(result.differences.isEmpty ? "ok      " : "FAILED  ")\(result.name)")
                for difference in result.differences { Console.print("        \(difference)") }
            }
            Console.print("\(read.rules.count) rules, \(results.count) tests, \(failed) failed")
        }
        if failed > 0 { throw ExitCode(1) }
    }
}

struct CompareRules: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "List the last notifications of a daemon that would go elsewhere under a file of rules.",
        discussion: """
            Each notification is decided about twice at its own time, among the sessions that are there now: under the rules in use, \
            and under those of the file. Nothing changes. The status is 0, and with --exit-status 3 if there are differences.

            EXAMPLES
              routerd rules diff rules.yaml
              routerd rules diff rules.yaml --last 500 --exit-status
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var table: TableOptions
    @Argument(help: "The file in YAML or JSON; - is standard input.")
    var file: String
    @Option(help: "The number of notifications, at most 1000.")
    var last = 100
    @Option(help: "Only notifications of this application.")
    var application: String?
    @Flag(help: "End with status 3 if there are differences.")
    var exitStatus = false

    func run() async throws {
        let query = ServerOptions.query([("last", String(last)), ("application", application)])
        let answer = try await server.send(
            path: "/v1/rules/diff" + query, body: try Console.read(argument: file),
            sentence: { RulesFaults.text($0, file) })
        let differences = answer["differences"]?.asArray ?? []
        if !server.json {
            let columns = [
                "notification", "application", "contentId", "current.outcome", "current.session", "proposed.outcome",
                "proposed.session", "proposed.reason",
            ]
            Table(columns, of: differences, wide: table.wide).show(nothing: "No notification would go elsewhere.")
            let lacking = answer["withoutRemoteAnswers"]?.asInt64 ?? 0
            Console.print(
                "\(answer["compared"]?.asInt64 ?? 0) compared, \(differences.count) would go elsewhere"
                    + (lacking > 0 ? "; \(lacking) compared without an answer of a remote rule" : ""))
        }
        if exitStatus, !differences.isEmpty { throw ExitCode(3) }
    }
}

struct PutRules: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put", abstract: "Use the rules of a file in a running daemon.",
        discussion: """
            All rules of the file take the place of those in use, at once and over restarts. A fault, or a test of the file that \
            fails, refuses all of them.

            EXAMPLES
              routerd rules put rules.yaml
            """)

    @OptionGroup var server: ServerOptions
    @Argument(help: "The file in YAML or JSON; - is standard input.")
    var file: String

    func run() async throws {
        let answer = try await server.send(
            .put, path: "/v1/rules", body: try Console.read(argument: file), sentence: { RulesFaults.text($0, file) })
        if !server.json { Console.print(RulesInDaemon.sentence(answer)) }
    }
}

struct ShowRules: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show the rules that a running daemon uses.",
        discussion: """
            The number of the version is on standard error. With --file, the rules are a file in YAML that "rules put" takes; \
            tests are not kept, and it has none.

            EXAMPLES
              routerd rules show
              routerd rules show --file > rules.yaml
              routerd rules show --json | jq '.rules[].name'
            """)

    @OptionGroup var server: ServerOptions
    @Flag(help: "Print a file of the rules.")
    var file = false

    func validate() throws {
        guard !file || !server.json else { throw ValidationError("Name either --file or --json.") }
    }

    func run() async throws {
        let answer = try await server.send(.get, path: "/v1/rules")
        guard !server.json else { return }
        let rules = answer["rules"] ?? .array([])
        if file {
            Console.print(Array(try YAMLText.write(["rules": rules]).utf8))
        } else {
            Console.print(indented: rules)
        }
        Console.error(RulesInDaemon.sentence(answer))
    }
}

struct ResetRules: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset", abstract: "Use the rules of the daemon's configuration again.",
        discussion: """
            EXAMPLES
              routerd rules reset
            """)

    @OptionGroup var server: ServerOptions

    func run() async throws {
        let answer = try await server.send(.delete, path: "/v1/rules")
        if !server.json { Console.print(RulesInDaemon.sentence(answer)) }
    }
}

/// The rules in use, in a sentence.
private enum RulesInDaemon {
    static func sentence(_ answer: JSONValue) -> String {
        let count = answer["rules"]?.asArray?.count ?? 0
        let origin = answer["origin"] == "request" ? "a request" : "the configuration"
        return "version \(answer["version"]?.asInt64 ?? 0): \(count) rules of \(origin)"
    }
}

/// The faults of rules that a daemon refused.
enum RulesFaults {
    /// A line each, with their places in the file; nil if the refusal names none.
    static func text(_ problem: JSONValue, _ file: String) -> String? {
        guard let faults = problem["faults"]?.asArray, !faults.isEmpty else { return nil }
        return
            (["the rules were refused; nothing was changed:"]
            + faults.map { fault in
                ConfigurationFault(
                    file: file, line: fault["line"]?.asInt64.map(Int.init),
                    column: fault["column"]?.asInt64.map(Int.init),
                    pointer: fault["pointer"]?.asString ?? "", message: fault["message"]?.asString ?? ""
                ).description
            }).joined(separator: "\n")
    }
}
