import HTTPTypes
import Router
import RouterPlugin
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// Faults in the syntax of a set: the whole set is refused, with the place, and nothing is deleted.
@Suite("Faults of sets")
struct SetFaultTests {
    struct Fault: Sendable, CustomTestStringConvertible {
        var name: String
        /// The second document of the set, from line 4.
        var text: String
        var line: Int64
        var column: Int64
        var testDescription: String { name }
    }

    static let faults = [
        Fault(name: "unclosed list", text: "{a: [}", line: 4, column: 6),
        Fault(name: "duplicate key", text: "kind: Application\nkind: Application\nid: b.c", line: 4, column: 1),
        Fault(name: "tab", text: "kind: Application\n\tid: b.c", line: 5, column: 1),
        Fault(name: "undefined alias", text: "kind: Application\nid: *name", line: 5, column: 5),
        Fault(name: "alias of its own", text: "kind: &a [x, *a]", line: 4, column: 14),
        Fault(name: "alias", text: "kind: &a \"*&\"\nid: {\"*\": *a}", line: 5, column: 11),
        Fault(name: "bad escape", text: #"{"kind": "Application", "id": "b\c"}"#, line: 4, column: 33),
        Fault(name: "unclosed JSON", text: #"{"kind": "Application", "id": "b.c""#, line: 5, column: 1),
        Fault(name: "id twice", text: #"{"kind": "Application", "id": "b.c", "id": "d.e"}"#, line: 4, column: 25),
        Fault(name: "5000 brackets", text: String(repeating: "[", count: 5000), line: 4, column: 1),
        Fault(
            name: "66 levels", text: "a: " + String(repeating: "[", count: 65) + String(repeating: "]", count: 65),
            line: 4, column: 68),
        Fault(name: "key that is a list", text: "? [a]\n: b", line: 4, column: 3),
        Fault(name: "control character", text: "kind: \u{7}", line: 4, column: 7),
    ]

    @Test(arguments: faults, [false, true])
    func changesAndDeletesNothing(_ fault: Fault, prunes: Bool) async throws {
        try await withDaemon { daemon in
            let first = "kind: Application\nid: a.b\n---\n"
            let applied = try await daemon.call(.post, "/v1/apply", first + "kind: Application\nid: b.c\n")
            #expect(applied.status == 200, "\(applied.text)")
            let answer = try await daemon.call(.post, "/v1/apply?prune=\(prunes)", first + fault.text + "\n")
            #expect(answer.status == 422 && answer["code"] == "invalid-set", "\(answer.text)")
            let told = try #require(answer["faults"].asArray?.first, "\(answer.text)")
            #expect(told["file"] == "document 2", "\(answer.text)")
            #expect(told["line"]?.asInt64 == fault.line && told["column"]?.asInt64 == fault.column, "\(answer.text)")
            #expect(try await daemon.call(.get, "/v1/applications").ids("applications") == ["a.b", "b.c"])
        }
    }

    /// Seven levels of nine: 4,782,969 values in 269 bytes.
    static let bomb = (0..<7).map { level in
        let inner = level == 0 ? "x" : "*a\(level - 1)"
        return "a\(level): &a\(level) [\(Array(repeating: inner, count: 9).joined(separator: ","))]"
    }.joined(separator: "\n")

    @Test(arguments: [bomb, bomb + "\n? *a6\n: 1", bomb.replacing("&a", with: "!!seq &a")])
    func aliasesAreRefusedBeforeTheyAreResolved(text: String) throws {
        let alone = #expect(throws: ConfigurationFaults.self) { try ConfigurationFile(path: "f", text: text) }
        let several = ConfigurationFile.documents(path: "f", text: text).fault
        for fault in [alone?.faults.first, several] {
            #expect(fault?.message == YAMLDocuments.aliasRefusal && fault?.line == 2, "\(String(describing: fault))")
        }
    }

    @Test func ampersandsAndAsterisksOfTextsAreNoAliases() throws {
        let text = "a: &a 'R&D *x'\nb: SELF LIKE '*&*'\nc: |\n  *d\n  &d\n\"*\": 1\n\"&\": 2\n"
        let file = try ConfigurationFile(path: "f", text: text)
        #expect(file.root["c"] == "*d\n&d\n" && file.root["b"] == "SELF LIKE '*&*'" && file.root["*"] == 1)
        #expect(file.faults.isEmpty)
    }

    @Test(arguments: ["kind: Application\nid: a.b\n", #"{"kind":"Application","id":"a.b"}"#])
    func aByteOrderMarkMayStandAtTheStart(text: String) async throws {
        let file = try ConfigurationFile(path: "f", text: "\u{FEFF}" + text)
        #expect(file.root["kind"] == "Application" && file.root["id"] == "a.b")
        #expect(file.fault("/kind", "").column == (text.hasPrefix("{") ? 9 : 7))
        try await withDaemon { daemon in
            let answer = try await daemon.call(.post, "/v1/apply", "\u{FEFF}" + text)
            #expect(answer.status == 200, "\(answer.text)")
        }
    }

    @Test(arguments: [
        #""\uFEFFa""#, #""\ufeffa""#, #""\U0000FEFFa""#, "\"\u{FEFF}a\"", "'\u{FEFF}a'", "\u{FEFF}a",
    ])
    func aByteOrderMarkOfAValueIsKept(text: String) throws {
        let file = try ConfigurationFile(path: "f", text: "feff: \(text)\nb: [\(text), x]\n")
        #expect(file.root["feff"] == "\u{FEFF}a" && file.root["b"] == ["\u{FEFF}a", "x"], "\(file.root)")
    }

    @Test func yamlAndJSONKeepEveryCharacter() throws {
        let texts = [
            "\u{FEFF}", "\u{FEFF}\u{FEFF}a", "a\u{FEFF}", "\u{7F}\u{85}\u{2028}\u{2029}\u{FFFE}", "feff", " \t\n",
        ]
        let value: JSONValue = ["a": .array(texts.map { .string($0) }), "\u{FEFF}key": .null]
        for written in [Array(try YAMLText.write(value).utf8), YAMLText.writeJSON(value)] {
            let file = try ConfigurationFile(path: "f", text: String(decoding: written, as: UTF8.self))
            #expect(file.root == value, "\(String(decoding: written, as: UTF8.self))")
        }
    }
}
