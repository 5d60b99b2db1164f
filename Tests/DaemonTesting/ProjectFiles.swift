import Foundation

/// Files of the project that tests share, found from this file, through links.
enum ProjectFiles {
    private static let tests = URL(filePath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().deletingLastPathComponent()
    static let root = tests.deletingLastPathComponent()

    /// The payloads of one kind, by name: requests as APNs' senders and GitHub post them.
    static func payloads(_ kind: String) throws -> [(name: String, bytes: [UInt8])] {
        let directory = tests.appending(path: "PluginsTests/Fixtures/\(kind)")
        return try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted().map { name in
            (name, Array(try Data(contentsOf: directory.appending(path: name))))
        }
    }

    /// A text at a path of the project.
    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// A file of nst/JSONTestSuite.
    static func jsonTest(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: tests.appending(path: "RouterPluginTests/Fixtures/json/\(name).json")))
    }

    /// The vectors of the predicate language.
    static func predicates(_ name: String = "predicates") throws -> [UInt8] {
        Array(try Data(contentsOf: tests.appending(path: "PredicateEngineTests/Fixtures/\(name).json")))
    }

    /// The recorded text of a snapshot; with `RECORD_SNAPSHOTS` in the environment, the text is recorded first.
    static func snapshot(_ name: String, now text: String) throws -> String {
        let file = tests.appending(path: "AcceptanceTests/Snapshots/\(name).txt")
        if ProcessInfo.processInfo.environment["RECORD_SNAPSHOTS"] != nil {
            try text.write(to: file, atomically: true, encoding: .utf8)
        }
        return try String(contentsOf: file, encoding: .utf8)
    }

    /// A page of docs, and the same page with a table between its marks `routes` and `end of routes`; with
    /// `RECORD_SNAPSHOTS` in the environment, the table is recorded first.
    static func page(_ name: String, table: String) throws -> (page: String, expected: String) {
        let file = root.appending(path: "docs/\(name)")
        let page = try String(contentsOf: file, encoding: .utf8)
        let (begin, end) = ("<!-- routes -->\n", "\n<!-- end of routes -->")
        let parts = page.components(separatedBy: begin)
        let rest = (parts.last ?? "").components(separatedBy: end)
        guard parts.count == 2, rest.count == 2 else { return (page, "a page with the marks of the table") }
        let expected = parts[0] + begin + table + end + rest[1]
        guard ProcessInfo.processInfo.environment["RECORD_SNAPSHOTS"] != nil else { return (page, expected) }
        try expected.write(to: file, atomically: true, encoding: .utf8)
        return (expected, expected)
    }
}
