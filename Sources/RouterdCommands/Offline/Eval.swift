import ArgumentParser
import PredicateEngine
import Router
import RouterPlugin

struct Eval: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Evaluate a predicate on a subject, or many of them from standard input.",
        discussion: """
            With --batch, each line of standard input is {"id", "predicate", "subject"} (subject may be null), and each \
            line of output, in the same order, is {"id", "result"} or {"id", "error": {"code", "message", "offset"}}.

            With --profile payload, the subject is a JSON document, in a batch any JSON value. Warnings go to standard \
            error; JSON has them as "warnings": [{"code", "message", "offset", "length"}].

            EXAMPLES
              routerd eval "SELF BEGINSWITH 'gallery://'" gallery://photo/7
              routerd eval --profile payload 'aps.badge > 3' '{"aps": {"badge": 4}}'
              routerd eval --batch < predicates.jsonl
            """)

    /// The sorts of predicates that can be evaluated.
    enum Profile: String, ExpressibleByArgument, CaseIterable {
        case conditions, payload
    }

    @Option(help: "The allowed predicates: of activation conditions, or over a JSON payload.")
    var profile = Profile.conditions
    @Flag(help: "Read JSON lines from standard input.")
    var batch = false
    @Flag(help: "Print JSON.")
    var json = false
    @Argument(help: "The predicate.")
    var predicate: String?
    @Argument(help: "The subject, a string or a JSON payload; left out, it is NULL.")
    var subject: String?

    func validate() throws {
        if batch, predicate != nil { throw ValidationError("--batch reads predicates from standard input.") }
        if !batch, predicate == nil { throw ValidationError("Give a predicate and a subject, or --batch.") }
        do { _ = try value(of: subject) } catch {
            throw ValidationError("The subject must be a JSON document: \(error.message) (byte \(error.offset))")
        }
    }

    /// The subject as a value: a string for conditions, a document for a payload.
    private func value(of subject: String?) throws(JSONError) -> JSONValue {
        guard let subject else { return .null }
        return profile == .payload ? try JSONValue(parsing: Array(subject.utf8)) : .string(subject)
    }

    func run() throws {
        if batch { return try runBatch() }
        let text = predicate ?? ""
        let value = try value(of: subject)
        do throws(PredicateError) {
            let evaluation = try Evaluation(text, profile, value)
            if json {
                Console.print(JSONWriter.object { evaluation.write(to: &$0) })
            } else {
                for warning in evaluation.warnings {
                    let code = warning.code.rawValue
                    Console.error("\(warning.caret(in: text))\nwarning: \(code): \(warning.message)")
                }
                Console.print("\(evaluation.result)")
            }
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
        for line in Console.lines(try Console.read("-")) { Console.print(EvalLine.answer(Array(line.bytes), profile)) }
    }
}

/// A predicate of a profile, read and evaluated.
private struct Evaluation {
    let result: Bool
    let warnings: [PredicateWarning]

    /// - Parameter subject: A string or null for conditions, any value for a payload.
    init(_ format: String, _ profile: Eval.Profile, _ subject: JSONValue) throws(PredicateError) {
        switch profile {
        case .conditions:
            let predicate = try Predicate(format: format)
            (result, warnings) = (predicate.evaluate(with: subject.asString), predicate.warnings)
        case .payload:
            let predicate = try PayloadPredicate(format: format)
            (result, warnings) = (predicate.evaluate(with: PayloadValue(subject)), predicate.warnings)
        }
    }

    func write(to object: inout JSONObjectWriter) {
        object.field("result", result)
        guard !warnings.isEmpty else { return }
        object.array("warnings") { array in
            for warning in warnings {
                array.object {
                    $0.field("code", warning.code.rawValue)
                    $0.field("message", warning.message)
                    $0.field("offset", warning.span.offset)
                    $0.field("length", warning.span.length)
                }
            }
        }
    }
}

/// One line of a batch.
private enum EvalLine {
    static func answer(_ line: [UInt8], _ profile: Eval.Profile) -> [UInt8] {
        let value: JSONValue
        do { value = try JSONValue(parsing: line, limits: .configuration) } catch {
            return failure(nil, error.code, error.message, error.offset)
        }
        guard let predicate = value["predicate"]?.asString else {
            return failure(value["id"], "missing-field", "The field predicate must be a string.", 0)
        }
        let subject = value["subject"] ?? .null
        if profile == .conditions, subject != .null, subject.asString == nil {
            return failure(value["id"], "wrong-type", "The field subject must be a string or null.", 0)
        }
        do throws(PredicateError) {
            let evaluation = try Evaluation(predicate, profile, subject)
            return JSONWriter.object {
                $0.field("id", value["id"])
                evaluation.write(to: &$0)
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
