import Foundation

@testable import RouterPlugin

/// The files beside the tests.
enum Fixtures {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Fixtures")

    static func bytes(_ path: String) throws -> [UInt8] {
        try [UInt8](Data(contentsOf: folder.appendingPathComponent(path)))
    }

    /// The names of the files in a folder, in order; none if there is no such folder.
    static func names(in path: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent(path).path)) ?? [])
            .sorted()
    }

    /// The recorded text of a snapshot; with `RECORD_SNAPSHOTS` in the environment, the given text, which is recorded.
    static func recorded(_ name: String, now text: String) throws -> String {
        guard ProcessInfo.processInfo.environment["RECORD_SNAPSHOTS"] != nil else {
            return String(decoding: try bytes(name), as: UTF8.self)
        }
        try text.write(to: folder.appendingPathComponent(name), atomically: true, encoding: .utf8)
        return text
    }

    /// The names of the files of JSONTestSuite that begin with the prefix.
    static func suite(_ prefix: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent("json").path)
            .filter { $0.hasPrefix(prefix) }
            .sorted()
    }
}

/// SplitMix64, so that a failing test can be run again with the seed that it prints.
struct Noise: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}

/// Parses a text; nil stands for success.
func fault(_ text: String, limits: JSONLimits = .ingest) -> JSONError? {
    fault(Array(text.utf8), limits: limits)
}

/// Parses bytes; nil stands for success.
func fault(_ bytes: [UInt8], limits: JSONLimits = .ingest) -> JSONError? {
    do {
        _ = try JSONValue(parsing: bytes, limits: limits)
        return nil
    } catch {
        return error
    }
}

func parsed(_ text: String) throws -> JSONValue {
    try JSONValue(parsing: Array(text.utf8))
}

func text(_ bytes: [UInt8]) -> String {
    String(decoding: bytes, as: UTF8.self)
}
