import ArgumentParser
import Foundation
import RouterPlugin

/// `routerd plugin new`: a project that passes its tests at once. The files are those of `Examples`.
struct NewPlugin: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new", abstract: "Make a project for a rule in a process of its own.",
        discussion: """
            EXAMPLES
              routerd plugin new shift --language python
              routerd plugin new shift --language node --id com.example.rule.shift
            """)

    enum Language: String, ExpressibleByArgument, CaseIterable {
        case python, node
    }

    @Argument(help: "The folder to make.")
    var folder: String
    @Option(help: "python or node.")
    var language = Language.python
    @Option(help: "The id of the plugin.")
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
        for (name, text) in Self.files(language) {
            let text = text.replacingOccurrences(of: "com.example.rule.shielded-roles", with: id)
            try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
            Console.print("\(folder)/\(name)")
        }
    }

    private static func files(_ language: Language) -> [(String, String)] {
        switch language {
        case .python: PluginProjects.python
        case .node: PluginProjects.node
        }
    }
}
