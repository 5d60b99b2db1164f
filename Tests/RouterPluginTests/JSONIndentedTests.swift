import Testing

@testable import RouterPlugin

struct JSONIndentedTests {
    @Test func documentsAreIndentedByTwoSpaces() throws {
        let value = try parsed(#"{"a":[1,{"b":null}],"c":{},"d":[],"e":"\u0001x"}"#)
        let expected = """
            {
              "a": [
                1,
                {
                  "b": null
                }
              ],
              "c": {},
              "d": [],
              "e": "\\u0001x"
            }
            """
        #expect(String(decoding: value.indented(), as: UTF8.self) == expected)
        #expect(try JSONValue(parsing: value.indented()) == value)
    }
}
