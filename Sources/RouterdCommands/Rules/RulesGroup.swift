import ArgumentParser
import RouterPlugin
import RouterdApp

/// `routerd rules`.
struct RulesGroup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rules", abstract: "Test the rules of a file.",
        discussion: """
            EXAMPLES
              routerd rules test rules.yaml
              routerd rules test routerd.yaml --json
            """,
        subcommands: [TestRules.self])
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
