import Foundation
import RouterPlugin

/// The files beside the tests.
enum Fixtures {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Fixtures")

    static func bytes(_ path: String) throws -> [UInt8] {
        try [UInt8](Data(contentsOf: folder.appendingPathComponent(path)))
    }

    static func names(in path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent(path).path).sorted()
    }
}

let noon = Timestamp(milliseconds: 1_767_268_800_000)

func request(_ body: [UInt8], _ headers: [(name: String, value: String)] = []) -> SourceRequest {
    SourceRequest(headers: headers, body: body, receivedAt: noon)
}

func request(_ body: String, _ headers: [(name: String, value: String)] = []) -> SourceRequest {
    request(Array(body.utf8), headers)
}

func parsed(_ text: String) throws -> JSONValue {
    try JSONValue(parsing: Array(text.utf8))
}
