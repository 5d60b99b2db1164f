import ArgumentParser
import Foundation
import RouterPlugin

/// `routerd plugin new`: a project that passes its tests at once. The files are those of the folder `Projects`.
struct NewPlugin: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new", abstract: "Make a project for rules without code, or for a rule in a process of its own.",
        discussion: """
            EXAMPLES
              routerd plugin new night --language rules
              routerd plugin new shift --language python
              routerd plugin new shift --language node --id com.example.rule.shift
            """)

    enum Language: String, ExpressibleByArgument, CaseIterable {
        case rules, python, node
    }

    @Argument(help: "The folder to make.")
    var folder: String
    @Option(help: "rules, python or node.")
    var language = Language.python
    @Option(help: "The id of the plugin in a process.")
    var id = "com.example.rule.shielded-roles"

    func validate() throws {
        guard (try? PluginID(id)) != nil else { throw ValidationError("--id is not the id of a plugin.") }
    }

    func run() throws {
        guard !FileManager.default.fileExists(atPath: folder) else {
            Console.error("There is a \(folder) already.")
            throw ExitCode(1)
        }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for (name, bytes) in Self.files(language) {
            let text = String(decoding: bytes, as: UTF8.self)
                .replacingOccurrences(of: "com.example.rule.shielded-roles", with: id)
            try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
            Console.print("\(folder)/\(name)")
        }
    }

    private static func files(_ language: Language) -> [(String, [UInt8])] {
        switch language {
        case .rules:
            [("rules.yaml", PackageResources.rules_yaml), ("README.md", PackageResources.README_rules_md)]
        case .python:
            [
                ("rule.py", PackageResources.rule_py), ("routerd_rule.py", PackageResources.routerd_rule_py),
                ("test_rule.py", PackageResources.test_rule_py), ("README.md", PackageResources.README_python_md),
            ]
        case .node:
            [
                ("rule.js", PackageResources.rule_js), ("routerd-rule.js", PackageResources.routerd_rule_js),
                ("rule.test.js", PackageResources.rule_test_js), ("README.md", PackageResources.README_node_md),
            ]
        }
    }
}
