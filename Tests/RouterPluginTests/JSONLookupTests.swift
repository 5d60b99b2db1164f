import Testing

@testable import RouterPlugin

struct JSONLookupTests {
    private let lookup = JSONLookup([["id"], ["aps", "id"], ["aps", "deep", "id"], []])

    private func search(_ document: String) throws -> [JSONLookup.Finding] {
        try lookup.search(Array(document.utf8)).findings
    }

    @Test func stringsAreFoundWhereverTheyStand() throws {
        let document = #"{"x":{"id":"no"},"aps":{"deep":{"id":"3"},"id":"2"},"id":"1"}"#
        #expect(
            try search(document) == [
                .string("1", offset: 58), .string("2", offset: 48), .string("3", offset: 38),
                .notAString(.object, offset: 0),
            ]
        )
    }

    @Test func escapesCountOnEitherSide() throws {
        #expect(
            try search(#"{"\u0069d":"\u00e9\n","aps":{"\u0069\u0064":""}}"#)[..<2] == [
                .string("é\n", offset: 12), .string("", offset: 45),
            ])
    }

    @Test func aValueThatIsNoStringIsRefused() throws {
        #expect(
            try search(#"{"id":1,"aps":{"id":null,"deep":{"id":[{"id":"x"}]}}}"#)[..<3] == [
                .notAString(.number, offset: 6), .notAString(.null, offset: 20), .notAString(.array, offset: 38),
            ])
        #expect(
            try search(#"{"id": {"id":"x"}, "aps":{"id":true}}"#)[..<2] == [
                .notAString(.object, offset: 7), .notAString(.bool, offset: 31),
            ])
    }

    @Test(arguments: [
        "{}", #"{"aps":"id"}"#, #"{"aps":[{"id":"x"}]}"#, #"[{"id":"x"},"id"]"#,
        #"{"ID":"x","id ":"x","x":{"id":"y"}}"#,
        #"{"aps":{"aps":{"id":"x"}}}"#, #"{"deep":{"id":"x"}}"#, "\"id\"",
    ])
    func otherPlacesAreNotFound(document: String) throws {
        #expect(try search(document)[..<3] == [.absent, .absent, .absent])
    }

    @Test func theRootIsNamed() throws {
        let roots = try ["null", "true", "1", "\"x\"", "[]", "{}"].map { try lookup.search(Array($0.utf8)).root }
        #expect(roots == JSONKind.allCases)
        #expect(try search("\"x\"")[3] == .string("x", offset: 1))
    }

    @Test func sixtyFourPlacesAreTheMost() throws {
        let lookup = JSONLookup((0..<64).map { ["k\($0)"] })
        let answer = try lookup.search(Array(#"{"k0":"a","k63":"b"}"#.utf8))
        #expect(answer.findings[0] == .string("a", offset: 7))
        #expect(answer.findings[63] == .string("b", offset: 17))
        #expect(answer.findings[1...62].allSatisfy { $0 == .absent })
        #expect(try JSONLookup([]).search(Array("{}".utf8)).findings == [])
    }

    @Test func aFaultAfterwardsStillCounts() {
        #expect(throws: JSONError.self) { try search(#"{"id":"x","id":"y"}"#) }
        #expect(throws: JSONError.self) { try search(#"{"id":"x"}}"#) }
    }
}
