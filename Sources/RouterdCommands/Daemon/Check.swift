import ArgumentParser
import Foundation
import RouterPlugin
import RouterdApp

struct Check: PluginCommand {
    static let configuration = CommandConfiguration(
        abstract: "Validate a configuration and print every fault with its place.",
        discussion: """
            EXAMPLES
              routerd check --config routerd.yaml
              routerd check --config routerd.yaml --json | jq '.faults[]'
            """)

    @Option(help: "The configuration file in YAML or JSON.")
    var config: String
    @Flag(help: "Print JSON.")
    var json = false

    func run(with plugins: PluginSet) async throws {
        do {
            let file = try ConfigurationFile(path: config)
            let loaded = try DaemonConfiguration.load(
                file: file, environment: ProcessInfo.processInfo.environment, plugins: plugins)
            let summary =
                "\(config): valid (keys: \(loaded.keys.count), rules: \(loaded.rules.count), grants: \(loaded.grants.count))"
            if json {
                Console.print(
                    JSONWriter.object { object in
                        object.field("valid", true)
                        object.array("faults") { _ in }
                        object.array("warnings") { list in for warning in loaded.warnings { list.element(warning) } }
                    })
            } else {
                Console.print(summary)
                for warning in loaded.warnings { Console.print("\(config): warning: \(warning)") }
            }
        } catch {
            if json { Console.print(error.json) } else { Console.error("\(error)") }
            throw ExitCode(1)
        }
    }
}
