import ArgumentParser
import PredicateEngine
import RouterPlugin

struct Eval: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Evaluate a predicate on a subject, or many of them from standard input.",
        discussion: """
            With --batch, each line of standard input is {"id", "predicate", "subject"} (subject may be null), and each \
            line of output, in the same order, is {"id", "result"} or {"id", "error": {"code", "message", "offset"}}.
            """)

    /// The sorts of predicates that can be evaluated.
    enum Profile: String, ExpressibleByArgument, CaseIterable {
        case conditions
    }

    @Option(help: "Which predicates are allowed: those of activation conditions.")
    var profile = Profile.conditions
    @Flag(help: "Read JSON lines from standard input.")
    var batch = false
    @Flag(help: "Print JSON.")
    var json = false
    @Argument(help: "The predicate.")
    var predicate: String?
    @Argument(help: "The subject; left out, it is NULL.")
    var subject: String?

    func validate() throws {
        if batch, predicate != nil { throw ValidationError("--batch reads predicates from standard input.") }
        if !batch, predicate == nil { throw ValidationError("Give a predicate and a subject, or --batch.") }
    }

    func run() throws {
        if batch { return try runBatch() }
        let text = predicate ?? ""
        do {
            let result = try Predicate(format: text).evaluate(with: subject)
            Console.print(json ? #"{"result":\#(result)}"# : "\(result)")
        } catch {
            if json {
                Console.print(JSONWriter.object { $0.object("error") { EvalLine.write(error, to: &$0) } })
            } else {
                Console.error("\(error.caret(in: text))\n\(error.code.rawValue): \(error.message)")
            }
            throw ExitCode(1)
        }
    }

    private func runBatch() throws {
        for line in Console.lines(try Console.read("-")) { Console.print(EvalLine.answer(Array(line.bytes))) }
    }
}

/// One line of a batch.
private enum EvalLine {
    static func answer(_ line: [UInt8]) -> [UInt8] {
        let value: JSONValue
        do { value = try JSONValue(parsing: line, limits: .configuration) } catch {
            return failure(nil, error.code, error.message, error.offset)
        }
        guard let predicate = value["predicate"]?.asString else {
            return failure(value["id"], "missing-field", "The field predicate must be a string.", 0)
        }
        let subject: String?
        switch value["subject"] ?? .null {
        case .null: subject = nil
        case .string(let text): subject = text
        default: return failure(value["id"], "wrong-type", "The field subject must be a string or null.", 0)
        }
        do {
            let result = try Predicate(format: predicate).evaluate(with: subject)
            return JSONWriter.object {
                $0.field("id", value["id"])
                $0.field("result", result)
            }
        } catch {
            return JSONWriter.object {
                $0.field("id", value["id"])
                $0.object("error") { write(error, to: &$0) }
            }
        }
    }

    static func write(_ error: PredicateError, to object: inout JSONObjectWriter) {
        object.field("code", error.code.rawValue)
        object.field("message", error.message)
        object.field("offset", error.span.offset)
        object.field("kind", error.kind.rawValue)
    }

    private static func failure(_ id: JSONValue?, _ code: String, _ message: String, _ offset: Int) -> [UInt8] {
        JSONWriter.object {
            $0.field("id", id)
            $0.object("error") {
                $0.field("code", code)
                $0.field("message", message)
                $0.field("offset", offset)
            }
        }
    }
}
