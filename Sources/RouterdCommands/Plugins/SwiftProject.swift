import Foundation
import RouterdApp

/// A package with a rule in Swift and its tests: the files of `Examples/third-party-rule` under another name.
struct SwiftProject {
    /// The name of the package and of its program.
    let name: String
    let routerd: RouterdPackage

    /// Names of modules that a program with routerd in it has already, or that the compiler reserves.
    static let modules: Set = [
        "CCurl", "CPluginChild", "DeliveryCurl", "Foundation", "Plugins", "PredicateEngine", "Router", "RouterPlugin",
        "RouterTesting", "RouterdApp", "RouterdBench", "RouterdClient", "RouterdCommands", "StoreSQLite", "Swift",
        "Testing", "main",
    ]

    /// The files that builds and the daemon make.
    private static let ignored = ".build/\n*.sqlite*\n"

    /// The project in a folder, which gives the package its name.
    init(folder: String, routerd: RouterdPackage) throws(ProjectFault) {
        name = URL(filePath: folder).standardizedFileURL.lastPathComponent
        self.routerd = routerd
        guard name.wholeMatch(of: /[A-Za-z][A-Za-z0-9_\-]*/) != nil else {
            throw ProjectFault(
                "A package in Swift has a name of letters, digits, - and _ that begins with a letter: not '\(name)'.")
        }
        // Packages of one name cannot depend on one another, and the program of routerd is a target of that name.
        guard !["routerd", routerd.identity.lowercased()].contains(name.lowercased()) else {
            throw ProjectFault("routerd's own package has the name '\(name)': the folder needs another one.")
        }
        guard !Self.modules.contains(name) else {
            throw ProjectFault("A module of routerd or of Swift has the name '\(name)': the folder needs another one.")
        }
    }

    /// The paths of the files within the folder, and their texts.
    var files: [(String, [UInt8])] {
        [
            ("Package.swift", PackageResources.Package_swift_txt),
            ("Sources/kiosk-router/main.swift", PackageResources.main_swift_txt),
            ("Sources/kiosk-router/ShieldedRoles.swift", PackageResources.ShieldedRoles_swift_txt),
            ("Tests/kiosk-routerTests/ShieldedRolesTests.swift", PackageResources.ShieldedRolesTests_swift_txt),
            (".gitignore", Array(Self.ignored.utf8)),
            ("routerd.yaml", PackageResources.routerd_yaml), ("README.md", PackageResources.README_swift_md),
        ].map { (named($0), Array(named(String(decoding: $1, as: UTF8.self)).utf8)) } + routerd.pins
    }

    private func named(_ text: String) -> String {
        text.replacingOccurrences(of: "kiosk-router", with: name)
            .replacingOccurrences(of: "kiosk_router", with: name.replacingOccurrences(of: "-", with: "_"))
            .replacingOccurrences(of: #".package(name: "routerd", path: "../..")"#, with: routerd.dependency)
            .replacingOccurrences(of: #"package: "routerd""#, with: "package: \"\(routerd.identity)\"")
    }
}

/// The package of routerd that a project depends on.
enum RouterdPackage {
    /// A checkout.
    case folder(String)
    /// A repository, and a branch of it; the version of this program without one.
    case repository(url: String, branch: String?)

    /// The package at a path or a URL, which may end with `#` and a branch.
    init(_ text: String) throws(ProjectFault) {
        if text.contains("://") || text.wholeMatch(of: /[^\/]+@[^\/]+:.+/) != nil {
            let parts = text.split(separator: "#", maxSplits: 1).map(String.init)
            self = .repository(url: parts[0], branch: parts.count > 1 ? parts[1] : nil)
            return
        }
        let folder = URL(filePath: text).standardizedFileURL.path
        guard Self.isPackage(folder) else {
            throw ProjectFault(
                "The folder \(folder) is not routerd's package: --routerd needs a checkout of routerd, or its URL.")
        }
        self = .folder(folder)
    }

    /// The checkout that a program was built in.
    init(of program: URL) throws(ProjectFault) {
        var folder = program.resolvingSymlinksInPath()
        while folder.path != "/" {
            folder.deleteLastPathComponent()
            if Self.isPackage(folder.path) {
                self = .folder(folder.path)
                return
            }
        }
        throw ProjectFault(
            "--language swift needs --routerd, the folder of a checkout of routerd or the URL of its repository: "
                + "this program is in no checkout.")
    }

    private static func isPackage(_ folder: String) -> Bool {
        ["Package.swift", "Sources/RouterPlugin", "Sources/RouterdCommands"].allSatisfy {
            FileManager.default.fileExists(atPath: "\(folder)/\($0)")
        }
    }

    /// The name that products of the package are found by: SwiftPM takes that of a repository from its URL.
    var identity: String {
        switch self {
        case .folder: return "routerd"
        case .repository(let url, _):
            let last = url.split { $0 == "/" || $0 == ":" }.last.map(String.init) ?? url
            return last.hasSuffix(".git") ? String(last.dropLast(4)) : last
        }
    }

    /// The dependency as an expression of `Package.swift`.
    var dependency: String {
        switch self {
        case .folder(let path): #".package(name: "routerd", path: \#(path.debugDescription))"#
        case .repository(let url, let branch?):
            ".package(url: \(url.debugDescription), branch: \(branch.debugDescription))"
        case .repository(let url, nil):
            ".package(url: \(url.debugDescription), from: \"\(RouterdVersion.current)\")"
        }
    }

    /// The versions of the packages that the checkout was built with, so that the project has the same ones.
    var pins: [(String, [UInt8])] {
        guard case .folder(let path) = self, let pins = FileManager.default.contents(atPath: "\(path)/Package.resolved")
        else { return [] }
        return [("Package.resolved", Array(pins))]
    }
}

/// A reason why there can be no project.
struct ProjectFault: Error {
    let message: String

    init(_ message: String) { self.message = message }
}
