import Foundation

/// A directory of a test's own, gone when the test lets go of it.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("store-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The path of a file in it.
    func file(_ name: String = "routerd.sqlite") -> String { "\(path)/\(name)" }

    /// Copies a file into it.
    func copy(_ path: String, to name: String) throws {
        try FileManager.default.copyItem(atPath: path, toPath: file(name))
    }

    /// The names of the files in it.
    func names() throws -> Set<String> { Set(try FileManager.default.contentsOfDirectory(atPath: path)) }

    /// All bytes of a file in it.
    func contents(_ name: String = "routerd.sqlite") throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: file(name)))
    }
}
