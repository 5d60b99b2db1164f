import Testing

@testable import RouterPlugin

struct JSONWriterTests {
    @Test func anObjectReadsAsItIsWritten() throws {
        let id = try NotificationID("ntf_1")
        let body = JSONWriter.object {
            $0.field("id", id)
            $0.field("at", Timestamp(milliseconds: 1_767_225_600_005))
            $0.field("reason", String?.none)
            $0.field("count", 3)
            $0.field("big", Int64.min)
            $0.field("ratio", 0.25)
            $0.field("nothing", Double.nan)
            $0.field("is", true)
            $0.raw("payload", Array(#"{ "a" : 1.0 }"#.utf8))
            $0.object("data") {
                $0.array("list") {
                    $0.element("x")
                    $0.raw([UInt8(ascii: "0")])
                    $0.object { _ in }
                    $0.array { $0.element(["k": [1, nil]] as JSONValue) }
                }
                $0.field("é", "\"")
            }
        }
        #expect(
            text(body)
                == #"{"id":"ntf_1","at":"2026-01-01T00:00:00.005Z","reason":null,"count":3,"big":-9223372036854775808,"#
                + #""ratio":0.25,"nothing":null,"is":true,"payload":{ "a" : 1.0 },"data":{"list":["x",0,{},[{"k":[1,null]}]],"#
                + #""é":"\""}}"#
        )
        #expect(fault(body) == nil)
        #expect(text(JSONWriter.array { _ in }) == "[]")
        #expect(text(JSONWriter.object { _ in }) == "{}")
    }

    @Test func stringsAreEscapedAsLittleAsPossible() {
        var bytes: [UInt8] = []
        JSONWriter.append(string: "\u{0}\u{1}\u{8}\t\n\u{B}\u{C}\r\u{1F} \"\\/\u{7F}é\u{2028}😀", to: &bytes)
        #expect(text(bytes) == #""\u0000\u0001\b\t\n\u000b\f\r\u001f \"\\/"# + "\u{7F}é\u{2028}😀\"")
    }

    @Test func naughtyStringsComeBackAsTheyWent() throws {
        let list = try #require(try JSONValue(parsing: Fixtures.bytes("blns.json")).asArray)
        #expect(list.count > 500)
        for entry in list {
            let string = try #require(entry.asString)
            #expect(try JSONValue(parsing: JSONWriter.object { $0.field(string, string) }) == .object([string: entry]))
        }
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// For tests: members in order.
    init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init()
        for (key, value) in elements { self[key] = value }
    }
}
