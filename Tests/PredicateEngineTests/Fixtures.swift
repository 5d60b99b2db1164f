import Foundation
import Testing

/// One entry of `Fixtures/predicates.json`.
struct Vector: Decodable, Sendable, CustomTestStringConvertible {
    /// The expected result of a vector.
    enum Expectation: Decodable, Hashable {
        case value(Bool)
        case error

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let value = try? container.decode(Bool.self) {
                self = .value(value)
            } else {
                self = .error
            }
        }
    }

    var id: String
    var predicate: String
    var subject: String?
    var expect: Expectation
    var error_kind: String?
    var why: String
    var gate: Bool

    var testDescription: String { id }
}

/// The files beside the tests.
enum Fixture {
    static func url(_ name: String) throws -> URL {
        try #require(Bundle.module.url(forResource: "Fixtures/" + name, withExtension: nil))
    }

    static func vectors() throws -> [Vector] {
        try JSONDecoder().decode([Vector].self, from: Data(contentsOf: url("predicates.json")))
    }

    /// The recorded text of a snapshot; with `RECORD_SNAPSHOTS` in the environment, the given text, which is to be
    /// recorded.
    static func recorded(_ name: String, now text: String) throws -> String {
        guard ProcessInfo.processInfo.environment["RECORD_SNAPSHOTS"] != nil else {
            return try String(contentsOf: url(name), encoding: .utf8)
        }
        let path = projectFile("Tests/PredicateEngineTests/Fixtures/" + name)
        try text.write(to: path, atomically: true, encoding: .utf8)
        return text
    }

    /// A text file of the project, by its path from the root.
    static func projectText(_ path: String) throws -> String {
        try String(contentsOf: projectFile(path), encoding: .utf8)
    }

    /// The root is found from this file, through links.
    private static func projectFile(_ path: String, from file: String = #filePath) -> URL {
        URL(fileURLWithPath: file).resolvingSymlinksInPath().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent(path)
    }
}
