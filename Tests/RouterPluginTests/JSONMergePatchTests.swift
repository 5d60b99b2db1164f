import Testing

@testable import RouterPlugin

struct JSONMergePatchTests {
    /// The examples of RFC 7396, appendix A.
    @Test(arguments: [
        (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
        (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
        (#"{"a":"b"}"#, #"{"a":null}"#, #"{}"#),
        (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
        (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
        (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
        (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
        (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
        (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
        (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#),
        (#"{"a":"foo"}"#, #"null"#, #"null"#),
        (#"{"a":"foo"}"#, #""bar""#, #""bar""#),
        (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
        (#"[1,2]"#, #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
        (#"{}"#, #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
    ])
    func theExamplesOfTheStandard(original: String, patch: String, result: String) throws {
        #expect(text(try parsed(original).merging(patch: parsed(patch)).serialized()) == result)
    }

    @Test func membersKeepTheirPlaceAndKeysAreBytes() throws {
        let merged = try parsed(#"{"a":1,"é":2,"c":3}"#).merging(patch: .object(["c": 4, "e\u{301}": 5, "a": 6]))
        #expect(text(merged.serialized()) == "{\"a\":6,\"é\":2,\"c\":4,\"e\u{301}\":5}")
    }

    /// Merging the same patch again changes nothing, and a wide one costs no more than its width.
    @Test func mergingTwiceIsMergingOnce() {
        var (target, patch) = (JSONObject(), JSONObject())
        for number in 0..<20_000 {
            target["a\(number)"] = 1
            patch["a\(number * 2)"] = number.isMultiple(of: 3) ? nil as JSONValue : ["b": 1, "c": nil]
        }
        let once = JSONValue.object(target).merging(patch: .object(patch))
        #expect(once.merging(patch: .object(patch)) == once)
        // Of the even places below 20,000 every third is removed; above, every third is not added.
        #expect(once.asObject?.count == 20_000 - 3334 + 6667)
    }
}
