import RouterPlugin
import Testing

@testable import Router

struct JSONDocumentTests {
    @Test("A document holds its value's bytes, and gives the value back")
    func roundTrip() throws {
        let text = Array(#"{"b":[1.50,-0,1e400,null,true,"\u0001é"],"a":{"":{}},"e":"é"}"#.utf8)
        let value = try JSONValue(parsing: text)
        let document = JSONDocument(value)
        #expect(document.bytes == text && document.value == value)
        #expect(try JSONDocument(parsing: Array(#" { "b" : 1 } "#.utf8)).bytes == Array(#"{"b":1}"#.utf8))
        #expect(JSONWriter.object { $0.field("x", document) } == Array(#"{"x":"#.utf8) + text + Array("}".utf8))
    }

    @Test("A document reads back beyond the limits for input from the network")
    func limits() {
        var deep = JSONValue.null
        for _ in 1..<JSONLimits.deepest { deep = [deep] }
        #expect(JSONDocument(deep).value == deep)
        let long = JSONValue.string(String(repeating: "x", count: JSONLimits.ingest.maximumBytes))
        #expect(JSONDocument(long).value == long)
    }

    @Test("A document keeps no spare capacity, and empty ones share their bytes")
    func room() {
        let value = JSONValue.array(Array(repeating: ["a": 1], count: 9000))
        let bytes = JSONDocument(value).bytes
        #expect(bytes.capacity < bytes.count + bytes.count / 8)
        let places = [JSONDocument(.object(JSONObject())), .emptyObject].map { document in
            document.bytes.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        }
        #expect(places[0] == places[1])
    }

    @Test("Damaged bytes are not a document")
    func damaged() {
        #expect(throws: JSONError.self) { try JSONDocument(parsing: Array("{".utf8)) }
    }
}
