import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// `routerd eval` and `routerd decide`: the language and the choice without a daemon.
@Suite("eval and decide", .longest)
struct PredicateCommandTests {
    private static let evaluations: [(arguments: [String], status: Int32, output: String)] = [
        (["SELF BEGINSWITH 'a'", "abc"], 0, "true\n"),
        (["SELF BEGINSWITH 'a'", "xyz"], 0, "false\n"),
        (["SELF == NULL"], 0, "true\n"),
        (["SELF == ''", ""], 0, "true\n"),
        (["--profile", "conditions", "TRUEPREDICATE", "x"], 0, "true\n"),
        (["--json", "SELF == 'a'", "a"], 0, "{\"result\":true}\n"),
        (["--json", "SELF == 'a'", "b"], 0, "{\"result\":false}\n"),
        (["--profile", "payload", "issue.number > 3", #"{"issue":{"number":4}}"#], 0, "true\n"),
        (["--profile", "payload", "SELF == NULL"], 0, "true\n"),
        (["--profile", "payload", "--json", "ANY a.b == 'x'", #"{"a":[{"b":"y"}]}"#], 0, "{\"result\":false}\n"),
    ]

    @Test(arguments: evaluations)
    func evalPrintsTheValue(_ row: (arguments: [String], status: Int32, output: String)) async throws {
        let ended = try await Program(["eval"] + row.arguments).ended()
        #expect(ended.status == row.status, "\(ended.errors)")
        #expect(ended.output == row.output)
        #expect(ended.errors.isEmpty)
    }

    @Test func evalDrawsAFault() async throws {
        let ended = try await Program.run("eval", "SELF BEGINWITH 'msg/'", "x")
        #expect(ended.status == 1)
        #expect(ended.output.isEmpty)
        #expect(ended.errors.hasPrefix("SELF BEGINWITH 'msg/'\n     ^~~~~~~~~\nexpected-operator: "), "\(ended.errors)")
        let json = try await Program.run("eval", "--json", "SELF ==", "x")
        #expect(json.status == 1)
        let error = try JSONValue(parsing: Array(json.output.utf8)).at("error")
        #expect(error.at("code") == "unexpected-end" && error.at("offset") == 7)
    }

    @Test(arguments: ["conditions", "payload"])
    func evalWarns(profile: String) async throws {
        let text = "SELF == 'a' OR SELF == 'b' AND SELF == 'c'"
        let ended = try await Program.run("eval", "--profile", profile, text, "\"a\"")
        #expect(ended.status == 0 && ended.output == (profile == "payload" ? "true\n" : "false\n"))
        let marker = String(repeating: " ", count: 15) + "^" + String(repeating: "~", count: 26)
        #expect(ended.errors.hasPrefix("\(text)\n\(marker)\nwarning: mixed-connectives: "), "\(ended.errors)")
        let json = try await Program.run("eval", "--profile", profile, "--json", text, "\"a\"")
        #expect(json.status == 0 && json.errors.isEmpty)
        let warning = try #require(try JSONValue(parsing: Array(json.output.utf8)).at("warnings").asArray?.first)
        #expect(warning.at("code") == "mixed-connectives" && warning.at("message").asString != nil)
        #expect(warning.at("offset") == 15 && warning.at("length") == 27)
    }

    @Test func evalBatchMeetsEveryPayloadVector() async throws {
        let vectors = try #require(
            try JSONValue(parsing: try ProjectFiles.predicates("payload-predicates"), limits: .configuration).asArray
        ).filter { $0["arguments"] == nil }
        let input = vectors.map { vector in
            String(
                decoding: JSONWriter.object { line in
                    line.field("id", vector.at("id"))
                    line.field("predicate", vector.at("predicate"))
                    line.field("subject", vector.at("payload"))
                }, as: UTF8.self)
        }
        let ended = try await Program.run(
            "eval", "--profile", "payload", "--batch", input: input.joined(separator: "\n"))
        let lines = try ended.output.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
        #expect(ended.status == 0 && lines.count == vectors.count)
        for (line, vector) in zip(lines, vectors) {
            let isError = vector.at("expect") == "error"
            #expect(isError || line.at("result") == vector.at("expect"), "\(vector)")
            #expect(!isError || line.at("error", "code") == vector.at("error"), "\(vector)")
        }
    }

    @Test(arguments: [
        ["eval"], ["eval", "--batch", "SELF == 'a'"], ["eval", "--profile", "magic", "SELF == 'a'"],
        ["eval", "--profile", "payload", "a == 1", "{"], ["eval", "a", "b", "c"], ["eval", "--what", "a"], ["decide"],
        ["nothing"], ["serve", "--port", "1"],
        ["check"], ["send"], ["receive", "--listen", "nowhere"], ["receive", "--secret", "abc"],
    ])
    func wrongUseIsStatusTwo(arguments: [String]) async throws {
        let ended = try await Program(arguments).ended()
        #expect(ended.status == 2, "\(ended.status): \(ended.errors)")
        #expect(ended.errors.contains("Usage: routerd"), "\(ended.errors)")
    }

    @Test func evalBatchMeetsEveryVector() async throws {
        let vectors = try #require(
            try JSONValue(parsing: try ProjectFiles.predicates(), limits: .configuration).asArray)
        #expect(vectors.count > 300)
        let input = vectors.map { vector in
            String(
                decoding: JSONWriter.object { line in
                    for key in ["id", "predicate", "subject"] { line.field(key, vector.at(key)) }
                }, as: UTF8.self)
        }
        let ended = try await Program.run("eval", "--batch", input: input.joined(separator: "\n"))
        #expect(ended.status == 0)
        let lines = try ended.output.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
        #expect(lines.count == vectors.count)
        for (line, vector) in zip(lines, vectors) {
            #expect(line.at("id") == vector.at("id"), "the same order")
            if case .bool = vector.at("expect") {
                #expect(line.at("result") == vector.at("expect"), "\(vector)")
            } else {
                #expect(line.at("error", "code").asString != nil && line.at("error", "offset").asInt64 != nil)
                #expect(line.at("error", "kind") == vector.at("error_kind"), "\(vector)")
            }
        }
    }

    @Test func aBadLineOfABatchFailsAlone() async throws {
        let input = """
            {"id":1,"predicate":"SELF == 'a'","subject":"a"}
            {"id":2,"predicate":
            {"id":"x","subject":"a"}
            {"id":3,"predicate":"TRUEPREDICATE","subject":7}
            {"id":4,"predicate":"SELF == NULL","subject":null}
            """
        let ended = try await Program.run("eval", "--batch", input: input)
        let lines = try ended.output.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
        #expect(ended.status == 0)
        #expect(lines.map { $0.at("id") } == [1, .null, "x", 3, 4])
        #expect(
            lines.map { $0.at("error", "code") } == [
                .null, "json-unexpected-end", "missing-field", "wrong-type", .null,
            ])
        #expect(lines.map { $0.at("result") } == [true, .null, .null, .null, true])
    }

    // MARK: decide

    private static func session(_ id: String, _ state: String = "unattached", _ fields: String = "") -> String {
        let named = #""id":"\#(id)","activationState":"\#(state)","endpoint":{"url":"http://a.example/"}"#
        return "{\(named)\(fields.isEmpty ? "" : ",")\(fields)}"
    }

    /// DESIGN 5: tier, level, state, order of creation.
    private static let choices:
        [(name: String, sessions: [String], subject: String, tier: String, session: JSONValue)] = [
            (
                "prefers before can",
                [
                    session("active", "foregroundActive"),
                    session("fond", "unattached", conditions(prefers: "SELF == 'a'")),
                ],
                "a", "prefers", "fond"
            ),
            (
                "prefers without can",
                [
                    session("fond", "unattached", conditions(can: "FALSEPREDICATE", prefers: "SELF == 'a'")),
                    session("able"),
                ],
                "a", "prefers", "fond"
            ),
            (
                "can where no session prefers",
                [session("b", "unattached", conditions(prefers: "SELF == 'b'")), session("c")],
                "a", "can", "b"
            ),
            (
                "level before state",
                [
                    session("active", "foregroundActive", conditions(prefers: "TRUEPREDICATE")),
                    session("high", "unattached", conditions(prefers: "TRUEPREDICATE", level: 1)),
                ], "a", "prefers", "high"
            ),
            (
                "level means nothing to can",
                [session("active", "background"), session("high", "unattached", conditions(level: 9))], "a", "can",
                "active"
            ),
            (
                "foregroundActive before foregroundInactive",
                [session("i", "foregroundInactive"), session("a", "foregroundActive")], "x", "can", "a"
            ),
            (
                "foregroundInactive before background",
                [session("b", "background"), session("i", "foregroundInactive")], "x", "can", "i"
            ),
            ("background before unattached", [session("u"), session("b", "background")], "x", "can", "b"),
            ("earliest creation last of all", [session("z"), session("a"), session("m")], "x", "can", "z"),
            (
                "no content: the most relevant",
                [
                    session("fond", "background", conditions(can: "FALSEPREDICATE", prefers: "TRUEPREDICATE")),
                    session("active", "foregroundActive", conditions(can: "FALSEPREDICATE")),
                ], "", "can", "active"
            ),
            (
                "no session can", [session("n", "foregroundActive", conditions(can: "FALSEPREDICATE"))], "a",
                "undeliverable", .null
            ),
            ("no session is registered", [], "a", "undeliverable", .null),
        ]

    @Test(arguments: choices)
    func decideChooses(
        _ row: (name: String, sessions: [String], subject: String, tier: String, session: JSONValue)
    ) async throws {
        let directory = try TemporaryDirectory()
        let ended = try await Program.run(
            "decide", "--sessions", try directory.write(row.sessions.joined(separator: "\n"), to: "sessions.jsonl"),
            "--subjects", try directory.write(row.subject + "\n", to: "subjects.txt"), "--verify", "--json")
        #expect(ended.status == 0, "\(row.name): \(ended.errors)")
        let line = try JSONValue(parsing: Array(ended.output.utf8))
        #expect(line.at("tier").asString == row.tier, "\(row.name)")
        #expect(line.at("session") == row.session, "\(row.name)")
        #expect(line.at("subject") == (row.subject.isEmpty ? .null : .string(row.subject)), "\(row.name)")
    }

    @Test func decideVerifiesMany() async throws {
        var generator = SplitMix64(seed: 42)
        let states = ["unattached", "background", "foregroundInactive", "foregroundActive"]
        let sessions = (0..<300).map { number in
            let one = Int.random(in: 0..<40, using: &generator)
            let other = Int.random(in: 0..<40, using: &generator)
            return Self.session(
                "s\(number)", states.randomElement(using: &generator) ?? "",
                conditions(
                    can: "SELF BEGINSWITH 'c\(one)'", prefers: "SELF == 'c\(other)' OR SELF ENDSWITH '\(one)x'",
                    level: Int.random(in: 0...2, using: &generator)) + #","device":"d\#(number % 3)""#)
        }
        let subjects =
            (0..<200).map { _ in "c\(Int.random(in: 0..<50, using: &generator))" } + ["", "7x", "Ünï", "c1\u{301}"]
        let directory = try TemporaryDirectory()
        let file = try directory.write(sessions.joined(separator: "\n") + "\n", to: "sessions.jsonl")
        var outputs: Set<String> = []
        for options in [
            [], ["--prefers-requires-can"], ["--device", "d1"], ["--device", "d1", "--prefers-requires-can"],
        ] {
            let ended = try await Program(
                ["decide", "--sessions", file, "--subjects", "-", "--verify"] + options,
                input: subjects.joined(separator: "\r\n") + "\r\n"
            ).ended()
            #expect(ended.status == 0, "\(options): \(ended.errors)")
            #expect(ended.output.split(separator: "\n").count == subjects.count)
            outputs.insert(ended.output)
        }
        #expect(outputs.count == 4, "each option makes a difference")
    }

    @Test func decideNamesTheBadLine() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write(
            Self.session("a") + "\n\n" + Self.session("b", "unattached", conditions(can: "SELF ==")),
            to: "sessions.jsonl")
        let ended = try await Program.run("decide", "--sessions", file, "--subjects", "-", input: "a\n")
        #expect(ended.status == 1)
        #expect(ended.errors.hasPrefix("\(file):3: /activationConditions/"), "\(ended.errors)")
        #expect(ended.errors.contains("SELF ==\n       ^"))
        let missing = try await Program.run("decide", "--sessions", directory.file("none"), "--subjects", "-")
        #expect(missing.status == 1 && missing.errors.contains("cannot be read"), "\(missing.errors)")
    }
}
