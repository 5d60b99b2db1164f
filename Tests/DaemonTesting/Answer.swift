import HTTPTypes
import Hummingbird
import NIOCore
import RouterPlugin
import RouterdApp
import Testing

/// The answer to a call of the API.
struct Answer: Sendable {
    let status: Int
    let headers: HTTPFields
    let bytes: [UInt8]

    init(_ head: HTTPResponse, _ body: ByteBuffer?) {
        status = head.status.code
        headers = head.headerFields
        bytes = body.map { Array($0.readableBytesView) } ?? []
    }

    init(_ answer: RawAnswer) {
        status = answer.status
        headers = HTTPFields(answer.headers)
        bytes = answer.body
    }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The body as JSON; null if it is not JSON.
    var json: JSONValue { (try? JSONValue(parsing: bytes, limits: .received)) ?? .null }

    /// The lines of a body of newline-delimited JSON.
    var lines: [JSONValue] {
        get throws { try bytes.split(separator: UInt8(ascii: "\n")).map { try JSONValue(parsing: Array($0)) } }
    }

    /// The value under a path of keys; null if there is none.
    subscript(path: String...) -> JSONValue { json.at(path) }

    var id: String { self["id"].asString ?? "" }

    /// The ids in a list.
    func ids(_ list: String) -> [String] { self[list].asArray?.compactMap { $0["id"]?.asString } ?? [] }
}

extension JSONValue {
    /// The value under a path of keys; null if there is none.
    func at(_ path: [String]) -> JSONValue { path.reduce(self) { $0[$1] ?? .null } }

    func at(_ path: String...) -> JSONValue { at(path) }
}

/// Expects a problem in the form of RFC 9457, with that status and that code.
func expectProblem(
    _ answer: Answer, _ status: Int, _ code: String, _ comment: Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    let told: Comment = "\(comment?.rawValue ?? ""): \(answer.status) \(answer.text)"
    let found = "\(answer.status) \(answer["code"].asString ?? "")"
    #expect(found == "\(status) \(code)", told, sourceLocation: sourceLocation)
    let isProblem =
        answer.headers[.contentType] == "application/problem+json"
        && answer["status"].asInt64 == Int64(status) && answer["type"].asString == "urn:routerd:problem:\(code)"
        && answer["title"].asString?.isEmpty == false && answer["detail"].asString?.isEmpty == false
    #expect(isProblem, told, sourceLocation: sourceLocation)
}
