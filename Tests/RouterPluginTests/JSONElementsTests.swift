import Testing

@testable import RouterPlugin

struct JSONElementsTests {
    private func elements(_ text: String) throws -> [String]? {
        let bytes = Array(text.utf8)
        return try JSONElements.ranges(in: bytes)?.map { String(decoding: bytes[$0], as: UTF8.self) }
    }

    @Test func elementsAreFoundAsTheyAreWritten() throws {
        let text = #" [ null , true,false, -1.50e3 ,"a\"]é", {"a" : [1 , {}]} , [ ], [[2]] ] "#
        #expect(
            try elements(text) == [
                "null", "true", "false", "-1.50e3", #""a\"]é""#, #"{"a" : [1 , {}]}"#, "[ ]", "[[2]]",
            ])
        #expect(try elements("[]") == [])
    }

    @Test(arguments: ["{}", #"{"a": [1]}"#, "1", "\"a\"", "null"])
    func otherDocumentsHaveNone(text: String) throws {
        #expect(try elements(text) == nil)
    }

    @Test func faultsAreThoseOfTheParser() throws {
        for text in ["[1,]", "[1", "[{\"a\":1,\"a\":2}]", "[1] 2", ""] {
            let expected = try #require(fault(text))
            #expect(throws: expected) { try elements(text) }
        }
    }

    /// Each element is a document of its own, and together they are the array.
    @Test(arguments: 1...50 as ClosedRange<UInt64>)
    func elementsReadAsTheArrayDoes(seed: UInt64) throws {
        var noise = Noise(state: seed)
        let values = (0..<Int.random(in: 0...6, using: &noise)).map { _ in
            JSONRandomTests.value(depth: 3, using: &noise)
        }
        let bytes = JSONValue.array(values).serialized()
        let ranges = try #require(try JSONElements.ranges(in: bytes, limits: .configuration))
        let found = try ranges.map { try JSONValue(parsing: Array(bytes[$0]), limits: .configuration) }
        #expect(found == values, "seed \(seed)")
    }
}
