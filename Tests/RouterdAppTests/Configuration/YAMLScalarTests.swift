import RouterPlugin
import TestSupport
import Testing

@testable import RouterdApp

/// Scalars by the core schema of YAML 1.2, and the refusal of those that YAML 1.1 reads differently.
@Suite("Scalars of YAML")
struct YAMLScalarTests {
    private static func number(_ text: String) -> JSONValue { .number(JSONNumber(text) ?? JSONNumber(0)) }

    private static func read(_ text: String) throws -> (value: JSONValue?, faults: [ConfigurationFault]) {
        let file = try ConfigurationFile(path: "f", text: "a:\n  - \(text)\n")
        return (file.root["a"]?.asArray?.first, file.faults)
    }

    @Test(
        arguments: [
            ("null", .null), ("~", .null), ("Null", .null), ("!!null ''", .null), ("true", true), ("False", false),
            ("TRUE", true), ("!!bool 'true'", true), ("0", 0), ("-0", number("-0")), ("12", 12),
            ("+12", 12), ("+0", 0), ("0x1F", 31), ("0xff", 255),
            ("0xFFFFFFFFFFFFFFFF", number("18446744073709551615")),
            ("!!int '7'", 7), ("!!int 7", 7), ("1.5", number("1.5")), ("+1.5", number("1.5")), (".5", number("0.5")),
            ("-.5", number("-0.5")), ("1.", 1),
            ("00.5", number("0.5")), ("1.10", number("1.10")), ("1e3", number("1e3")),
            ("1E400", number("1E400")), ("1.e+3", number("1e+3")),
            ("!!float '1.5'", number("1.5")), ("!!float 1", 1),
            ("99999999999999999999", number("99999999999999999999")),
            ("!!str 02142", "02142"), ("!!str null", "null"), ("!!str 1e3", "1e3"), ("!!str 5", "5"), ("!!str", ""),
            ("!!str 22:00", "22:00"), ("!!str NO", "NO"), ("!!str true", "true"), ("! 02142", "02142"), ("! NO", "NO"),
            ("! null", "null"), ("! 22:00", "22:00"), ("'NO'", "NO"), ("\"0777\"", "0777"), ("yEs", "yEs"),
            ("nO", "nO"),
            ("tRuE", "tRuE"), ("nULL", "nULL"), ("07:00", "07:00"), ("00:30", "00:30"), ("22:61", "22:61"),
            ("1.2.3", "1.2.3"),
            ("127.0.0.1", "127.0.0.1"), ("127.0.0.1:8080", "127.0.0.1:8080"), ("2026-01-02", "2026-01-02"),
            ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"), (".", "."), ("+", "+"), ("_1", "_1"), ("._1", "._1"),
            ("1e", "1e"),
            ("0x", "0x"), ("0xg", "0xg"), ("0o8", "0o8"), ("-0o7", "-0o7"), ("0b2", "0b2"), (".iNf", ".iNf"),
            (".nAn", ".nAn"),
            ("e3", "e3"), ("1e3.5", "1e3.5"), ("a:b", "a:b"), ("::1", "::1"), ("5 %", "5 %"), ("!!seq []", []),
            ("!!map {}", [:]),
        ] as [(String, JSONValue)])
    func values(text: String, value: JSONValue) throws {
        let read = try Self.read(text)
        #expect(read.value == value && read.faults.isEmpty, "\(read)")
    }

    @Test(arguments: [
        "NO", "no", "Off", "on", "YES", "yes", "Yes", "y", "N", "=", "01234", "0777", "-012", "+012", "010", "08",
        "-09", "00",
        "1_000", "1_0.5", "1.5_0", "0b11", "-0b1", "0b1_0", "0o17", "-0x1F", "+0x1F", "0x_1F", "0x1_F", "22:00", "7:00",
        "190:20:30", "0:30.5", "1:30.5", "+1e3", "01e3", ".5e3", "1.e3", "!!int 0777", "!!bool NO", "!!float 1_0.5",
    ])
    func differences(text: String) throws {
        let read = try Self.read(text)
        let fault = try #require(read.faults.first, "\(read)")
        #expect(fault.line == 2 && fault.pointer == "/a/0" && fault.message.contains("put it in quotes"), "\(fault)")
    }

    @Test(arguments: [
        ".inf", "-.Inf", "+.INF", ".nan", ".NaN", ".NAN", "0x10000000000000000", "!!int x", "!!int 1.5", "!!int",
        "!!bool 1",
        "!!null x", "!!float true", "!!binary aGk=", "!!timestamp 2026-01-02", "!own x", "!!set {a}", "!!seq {}",
        "!!map []",
    ])
    func otherRefusals(text: String) throws {
        let read = try Self.read(text)
        #expect(read.faults.first?.line == 2, "\(read)")
    }

    @Test func keysAreTexts() throws {
        let file = try ConfigurationFile(path: "f", text: "NO: 1\n0777: 2\ny: 3\n1: 4\n")
        #expect(file.root == ["NO": 1, "0777": 2, "y": 3, "1": 4] && file.faults.isEmpty, "\(file.root)")
        let merge = try ConfigurationFile(path: "f", text: "a: {<<: {b: 1}}\n")
        #expect(merge.faults.first?.pointer == "/a/<<")
        #expect(try ConfigurationFile(path: "f", text: "a: {'<<': {b: 1}}\n").faults.isEmpty)
    }

    @Test func exportedTextsAreReadAsTexts() throws {
        let texts = [
            "NO", "y", "0777", "1e3", ".5", "22:00", "<<", "=", "null", "", "~", ".inf", "1_0", "0x1F", "!a",
            "2026-01-02",
        ]
        var object = JSONObject()
        for text in texts { object[text] = .string(text) }
        func number(_ text: String) -> JSONValue { Self.number(text) }
        let value: JSONValue = ["texts": .object(object), "n": number("1e400"), "m": number("1.5"), "f": false]
        let text = try YAMLText.write(value)
        let file = try ConfigurationFile(path: "f", text: text)
        #expect(file.root == value && file.faults.isEmpty, "\(text) \(file.faults)")
    }

    @Test func aSetHasABoundOnDocuments() {
        let text = String(repeating: "---\n", count: DaemonLimits.documents)
        #expect(ConfigurationFile.documents(path: "f", text: text).fault == nil)
        let (files, fault) = ConfigurationFile.documents(path: "f", text: text + "---\n")
        #expect(files.count == DaemonLimits.documents && fault != nil)
    }

    /// Each scalar of one line is looked up in it, for its byte order mark: 200,000 of them in a line of 1 MB.
    @Test(.longest) func aLongLineIsReadOnce() throws {
        let line = "[" + String(repeating: "feff,", count: 200_000) + "\u{FEFF}a]"
        #expect(try ConfigurationFile(path: "f", text: line).root.asArray?.last == "\u{FEFF}a")
    }
}
