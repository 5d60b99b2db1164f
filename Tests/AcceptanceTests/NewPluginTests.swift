import Foundation
import RouterdApp
import TestSupport
import Testing

@testable import DaemonTesting

/// `routerd plugin new`: the files of each language. Other tests run the projects: `Tests/example/run.py` builds the one in
/// Swift, and `Tests/readme/run.py` plays those of docs/PLUGINS.md.
@Suite("new plugins", .longest)
struct NewPluginTests {
    private static let package = URL(filePath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: package.appending(path: path), encoding: .utf8)
    }

    /// Runs the command for a folder of this name, and returns the texts of the files that it has made, by their paths.
    private static func project(_ name: String, _ options: String...) async throws -> [String: String] {
        let directory = try TemporaryDirectory()
        let folder = URL(filePath: directory.file(name))
        let ended = try await Program(["plugin", "new", folder.path] + options).ended()
        #expect(ended.status == 0, "\(ended.errors)")
        let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
        let files = try paths.map { ($0, folder.appending(path: $0)) }
            .filter { try $0.1.resourceValues(forKeys: [.isDirectoryKey]).isDirectory == false }
        #expect(Set(ended.output.split(separator: "\n").map(String.init)) == Set(files.map(\.1.path)))
        return try Dictionary(
            uniqueKeysWithValues: files.map { path, file in
                (path, try String(contentsOf: file, encoding: .utf8).replacing(directory.path, with: ""))
            })
    }

    @Test(arguments: ["rules", "python", "node"])
    func aProjectHasTheFilesOfItsLanguage(language: String) async throws {
        let files = try await Self.project("shift", "--kind", "rule", "--language", language)
        #expect(files.count == (language == "rules" ? 2 : 4) && files["README.md"] != nil)
        for (path, text) in files {
            let origin = path == "README.md" ? "README.\(language).md" : path
            let expected = try Self.text("Sources/RouterdCommands/Plugins/Projects/\(language)/\(origin)")
            #expect(text == expected.replacing("/srv/rules/", with: "/shift/"), "\(path)")
        }
    }

    @Test func aFolderThatCannotBeMadeIsNamedWithTheReason() async throws {
        let ended = try await Program.run("plugin", "new", "/proc/rules/shift", "--language", "python")
        #expect(ended.status == 1 && ended.output.isEmpty)
        #expect(ended.errors == "Error: cannot make /proc/rules: No such file or directory\n", "\(ended.errors)")
    }

    /// The program under test was built in the checkout, which is the package of the project unless another is named.
    @Test func aProjectInSwiftIsTheExampleUnderItsOwnName() async throws {
        let files = try await Self.project("kiosk-router", "--language", "swift")
        let sources = [
            ".gitignore", "Package.swift", "README.md", "Sources/kiosk-router/ShieldedRoles.swift",
            "Sources/kiosk-router/main.swift",
            "Tests/kiosk-routerTests/ShieldedRolesTests.swift", "routerd.yaml",
        ]
        #expect(files.keys.filter { $0 != "Package.resolved" }.sorted() == sources)
        #expect(try files["Package.resolved"] == Self.text("Package.resolved"))
        for path in sources {
            let made = files[path]?.replacing("path: \"\(Self.package.path)\"", with: "path: \"../..\"")
            #expect(try made == Self.text("Examples/third-party-rule/\(path)"), "\(path)")
        }
    }

    @Test func aProjectInSwiftHasTheNameOfItsFolder() async throws {
        let files = try await Self.project("night-shift", "--language", "swift", "--id", "com.example.rule.night")
        #expect(files["Package.swift"]?.contains("name: \"night-shift\"") == true)
        #expect(files["Tests/night-shiftTests/ShieldedRolesTests.swift"]?.contains("import night_shift\n") == true)
        #expect(files["Sources/night-shift/ShieldedRoles.swift"]?.contains("\"com.example.rule.night\"") == true)
        #expect(files["routerd.yaml"]?.contains("id: com.example.rule.night\n") == true)
        for (path, text) in files {
            let rest = ["kiosk-router", "kiosk_router", "com.example.rule.shielded-roles"].filter(text.contains)
            #expect(rest == [], "\(path)")
        }
    }

    @Test(arguments: [
        ("https://example.com/mirror/routerd.git", #"from: "\#(RouterdVersion.current)""#, "routerd"),
        ("https://example.com/mirror/router-fork#main", #"branch: "main""#, "router-fork"),
        ("git@example.com:routerd.git", #"from: "\#(RouterdVersion.current)""#, "routerd"),
    ])
    func aURLIsADependencyOfAVersionOrABranch(url: String, requirement: String, identity: String) async throws {
        let files = try await Self.project("kiosk-router", "--language", "swift", "--routerd", url)
        let text = try #require(files["Package.swift"])
        let repository = url.prefix { $0 != "#" }
        #expect(text.contains(#"dependencies: [.package(url: "\#(repository)", \#(requirement))],"#))
        #expect(text.contains(#".product(name: "RouterdApp", package: "\#(identity)")"#))
        #expect(files["Package.resolved"] == nil)
    }

    @Test(arguments: [
        (["9-lives", "--language", "swift"], "A package in Swift has a name of letters, digits, - and _"),
        (["routerd", "--language", "swift"], "routerd's own package has the name 'routerd'"),
        (["fork", "--language", "swift", "--routerd", "https://example.com/Fork.git"], "has the name 'fork'"),
        (["Plugins", "--language", "swift"], "A module of routerd or of Swift has the name 'Plugins'"),
        (["shift", "--language", "swift", "--routerd", "/usr/lib"], "The folder /usr/lib is not routerd's package"),
        (["shift", "--language", "node", "--routerd", "/usr/lib"], "--routerd is for --language swift."),
        (["shift", "--language", "cobol"], "cobol"), (["shift", "--kind", "source"], "source"),
        (["shift", "--id", "shift!"], "--id is not the id of a plugin."),
        (["shift", "--language", "rules", "--id", "a.b"], "--id is for rules with code"),
        (["."], "There is a "),
    ])
    func aProjectThatCannotBeIsRefused(arguments: [String], message: String) async throws {
        let directory = try TemporaryDirectory()
        let ended = try await Program(["plugin", "new", directory.file(arguments[0])] + arguments.dropFirst()).ended()
        #expect(ended.status != 0 && ended.output.isEmpty && ended.errors.contains(message), "\(ended.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == [])
    }

    /// A module of the package is a folder of Sources, and two modules of one program cannot have one name.
    @Test func theNameOfAModuleIsTaken() async throws {
        let modules = try FileManager.default.contentsOfDirectory(atPath: Self.package.path + "/Sources")
        let folder = try TemporaryDirectory()
        for module in modules where module != "routerd" {
            let ended = try await Program(["plugin", "new", folder.file(module), "--language", "swift"]).ended()
            #expect(
                ended.status == 1 && ended.errors.contains("has the name '\(module)'"), "\(module): \(ended.errors)")
        }
    }

    @Test func aProgramOutsideOfACheckoutNeedsThePackage() async throws {
        let directory = try TemporaryDirectory()
        let copy = directory.file("copy")
        let ended = try await Program(
            ["plugin", "new", directory.file("shift"), "--language", "swift"],
            under: ["/bin/sh", "-c", #"cp "$0" \#(copy) && exec \#(copy) "$@""#]
        ).ended()
        #expect(ended.status == 1 && ended.errors.contains("--language swift needs --routerd"), "\(ended.errors)")
    }
}
