import Testing

@testable import RouterPlugin

struct JSONNumberTests {
    @Test(arguments: [
        "0", "-0", "-0.0", "0.1", "1e400", "1E+2", "1e-07", "12345678901234567890", "0.10", "100",
        "9223372036854775808",
    ])
    func theTextIsKept(text written: String) throws {
        let value = try parsed("[\(written)]")
        #expect(value.asArray == [.number(JSONNumber(checked: written))])
        #expect(text(value.serialized()) == "[\(written)]")
        #expect(JSONNumber(written)?.text == written)
    }

    @Test(arguments: [
        "", " 1", "1 ", "01", "+1", ".5", "1.", "1e", "NaN", "Infinity", "0x1", "1,2", "[1]", "\"1\"", "١",
    ])
    func onlyANumberIsANumber(text: String) {
        #expect(JSONNumber(text) == nil)
    }

    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("-0.000e5", 0), ("0e99999999999999999999", 0), ("1", 1), ("-1", -1), ("1.0", 1),
            ("1e2", 100), ("1E+2", 100), ("100e-2", 1), ("1.50e1", 15), ("0.0012e4", 12), ("1200e-2", 12),
            ("9223372036854775807", .max), ("-9223372036854775808", .min), ("9223372036854775807.000", .max),
            ("922337203685477580.7e1", .max), ("1000000000000000000", 1_000_000_000_000_000_000),
            ("1e18", 1_000_000_000_000_000_000),
        ] as [(String, Int64)])
    func wholeNumbersThatFitAreIntegers(text: String, value: Int64) {
        #expect(JSONNumber(text)?.asInt64 == value)
    }

    @Test(arguments: [
        "0.1", "1.5", "1e-1", "101e-2", "9223372036854775808", "-9223372036854775809", "1e19", "1e400",
        "1e99999999999999999999", "1e-99999999999999999999", "99999999999999999999", "10000000000000000000",
    ])
    func otherNumbersAreNot(text: String) {
        #expect(JSONNumber(text)?.asInt64 == nil)
    }

    @Test func doublesAreTheNearest() {
        #expect(JSONNumber("0.1")?.asDouble == 0.1)
        #expect(JSONNumber("-0.0")?.asDouble?.sign == .minus)
        #expect(JSONNumber("1e400")?.asDouble == nil)
        #expect(JSONNumber("-1e400")?.asDouble == nil)
        #expect(JSONNumber("1e-400")?.asDouble == 0)
        #expect(JSONNumber("9007199254740993")?.asDouble == 9_007_199_254_740_992)
        #expect(JSONNumber(Double.infinity) == nil)
        #expect(JSONNumber(Double.nan) == nil)
        for value in [0.1, -0.0, 1e-7, 1e16, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 123456.789] {
            let number = JSONNumber(value)
            #expect(number?.asDouble == value)
            #expect(JSONNumber(number?.text ?? "") == number)
        }
        #expect(JSONNumber(Int64.min).text == "-9223372036854775808")
    }
}
