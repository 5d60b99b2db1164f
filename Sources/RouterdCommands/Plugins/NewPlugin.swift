import ArgumentParser
import Foundation
import Glibc
import RouterPlugin

/// `routerd plugin new`: a project that passes its tests at once. The files are those of the folder `Projects`.
struct NewPlugin: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new",
        abstract: "Make a project for rules without code, for a rule in a process of its own, or for a rule in Swift.",
        discussion: """
            A rule in Swift is part of a program with every command of routerd.
            Its package depends on that of routerd, which --routerd names: the folder
            of a checkout, or the URL of a repository, which may end with # and a
            branch. Without a branch, the repository needs the tag of this version.

            EXAMPLES
              routerd plugin new night --language rules
              routerd plugin new shift --language python
              routerd plugin new shift --language node --id com.example.rule.shift
              routerd plugin new kiosk-router --language swift --routerd ../routerd
              routerd plugin new kiosk --language swift --routerd https://host/routerd#main
            """)

    enum Kind: String, ExpressibleByArgument, CaseIterable {
        case rule
    }

    enum Language: String, ExpressibleByArgument, CaseIterable {
        case rules, python, node, swift
    }

    @Argument(help: "The folder to make; for swift it names the package and its program.")
    var folder: String
    @Option(help: "The kind of the plugin.")
    var kind = Kind.rule
    @Option(help: "rules, python, node or swift.")
    var language = Language.python
    @Option(
        help: "The id of the plugin; rules without code have none. (default: com.example.rule.shielded-roles)")
    var id: String?
    @Option(help: "For swift, routerd's package: a folder or a URL. (default: the checkout of this program)")
    var routerd: String?

    private static let usualID = "com.example.rule.shielded-roles"

    func validate() throws {
        if let id {
            guard (try? PluginID(id)) != nil else { throw ValidationError("--id is not the id of a plugin.") }
            guard language != .rules else { throw ValidationError("--id is for rules with code.") }
        }
        guard routerd == nil || language == .swift else { throw ValidationError("--routerd is for --language swift.") }
    }

    func run() throws {
        guard !FileManager.default.fileExists(atPath: folder) else {
            Console.error("There is a \(folder) already.")
            throw ExitCode(1)
        }
        let place = URL(filePath: folder).standardizedFileURL.path
        for (name, bytes) in try files() {
            let file = URL(filePath: "\(folder)/\(name)").standardizedFileURL
            let text = String(decoding: bytes, as: UTF8.self)
                .replacingOccurrences(of: Self.usualID, with: id ?? Self.usualID)
                .replacingOccurrences(of: "/srv/rules/", with: "\(place)/")
            try Self.makeFolder(file.deletingLastPathComponent())
            try Console.write(Array(text.utf8), toFile: file.path)
            Console.print("\(folder)/\(name)")
        }
    }

    /// Makes a folder and the folders above it that are not there.
    private static func makeFolder(_ folder: URL) throws {
        guard !FileManager.default.fileExists(atPath: folder.path) else { return }
        try makeFolder(folder.deletingLastPathComponent())
        guard mkdir(folder.path, 0o777) == 0 else {
            throw UnmadeFolder(path: folder.path, reason: String(cString: strerror(errno)))
        }
    }

    private func files() throws -> [(String, [UInt8])] {
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
        case .swift:
            try swiftFiles()
        }
    }

    private func swiftFiles() throws -> [(String, [UInt8])] {
        do throws(ProjectFault) {
            let package =
                if let routerd { try RouterdPackage(routerd) } else {
                    try RouterdPackage(of: URL(filePath: "/proc/self/exe"))
                }
            return try SwiftProject(folder: folder, routerd: package).files
        } catch {
            Console.error(error.message)
            throw ExitCode(1)
        }
    }
}

/// A folder of a project that cannot be made.
private struct UnmadeFolder: Error, CustomStringConvertible {
    let path: String
    let reason: String
    var description: String { "cannot make \(path): \(reason)" }
}
