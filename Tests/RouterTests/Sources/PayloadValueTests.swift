import PredicateEngine
import RouterPlugin
import Testing

@testable import Router

/// JSON documents as predicate values.
@Suite struct PayloadValueTests {
    private func value(_ text: String) throws -> PayloadValue { PayloadValue(try JSONValue(parsing: Array(text.utf8))) }

    @Test func everyKindHasItsValue() throws {
        let payload = try value(#"{"b":[null,true,1,"x\u00e9",{}],"a":{"c":0.5}}"#)
        let expected = PayloadObject([
            ("a", .object(PayloadObject([("c", try #require(.double(0.5)))]))),
            ("b", .array([.null, .boolean(true), .integer(1), .string("x\u{E9}"), .object(PayloadObject([]))])),
        ])
        #expect(payload == .object(expected))
    }

    @Test(arguments: [
        ("1", "SELF == 1"), ("1.0", "SELF == 1"), ("100e-2", "SELF == 1"), ("-0.0", "SELF == 0"),
        ("0.1", "SELF == 0.1"),
        ("9223372036854775807", "SELF == 9223372036854775807"),
        ("-9223372036854775808", "SELF == -9223372036854775808"),
        ("9007199254740993.0", "SELF == 9007199254740993"), ("9223372036854775808", "SELF > 9223372036854775807"),
        ("1e400", "SELF > 1e308"), ("-1e400", "SELF < -1e308"), ("1e-400", "SELF == 0"),
        ("12345678901234567890123", "SELF == 12345678901234567890123"),
    ])
    func numbersCompareByValue(number: String, format: String) throws {
        let payload = try value(number)
        #expect(try PayloadPredicate(format: format).evaluate(with: payload), "\(payload)")
    }

    @Test func namesAreBytes() throws {
        let payload = try value("{\"caf\u{E9}\":1,\"cafe\u{301}\":2}")
        for (name, number) in [("caf\u{E9}", 1), ("cafe\u{301}", 2)] as [(String, Int64)] {
            let predicate = try PayloadPredicate(format: "%K == %@", arguments: [.string(name), .integer(number)])
            #expect(predicate.evaluate(with: payload))
        }
    }

    /// The deepest accepted document does not overflow the stack.
    @Test func deepDocumentsAreFollowed() throws {
        let depth = JSONLimits.deepest
        let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let limits = JSONLimits(maximumBytes: 4096, maximumDepth: depth)
        let payload = PayloadValue(try JSONValue(parsing: Array(text.utf8), limits: limits))
        #expect(try PayloadPredicate(format: "SELF == SELF AND SELF.a == {}").evaluate(with: payload))
    }
}
