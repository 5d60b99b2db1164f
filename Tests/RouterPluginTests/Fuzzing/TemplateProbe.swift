@testable import RouterPlugin

/// The laws of every text that is given to the parser of templates, and of every event that fills one. The caller finds
/// traps.
///
/// An input is a template, a payload, and the values beside it, with a separator between any two. The first letter of a
/// value is its place, `t` for the type of the event:
///
///     github://{repository.full_name}/{header.x-id} ⟨FF⟩ {"repository": …} ⟨FF⟩ tissues ⟨FF⟩ hx-id=7 ⟨FF⟩ qa=b ⟨FF⟩ asource=c
enum TemplateProbe {
    private static let separator: UInt8 = 0xFF
    private static let limits = [TemplateLimits.resultBytes, 512, 16]

    /// The fault that was found, if there is one.
    static func fault(in input: [UInt8]) -> String? {
        let parts = input.split(separator: separator, omittingEmptySubsequences: false)
        let text = String(decoding: parts.first ?? [], as: UTF8.self)
        let payload = parts.count > 1 ? try? JSONValue(parsing: Array(parts[1])) : nil
        if let payload, let fault = tableFault(payload) { return fault }
        do throws(TemplateError) {
            let template = try PayloadTemplate(text)
            let scope = scope(payload, parts.dropFirst(2).map { String(decoding: $0, as: UTF8.self) })
            return printFault(template, scope) ?? limits.lazy.compactMap { resultFault(template, scope, $0) }.first
        } catch {
            return errorFault(error, text)
        }
    }

    private static func scope(_ payload: JSONValue?, _ values: [String]) -> TemplateScope {
        var headers: [(name: String, value: String)] = []
        var query: [(name: String, value: String)] = []
        var attributes: [SourceEvent.Attribute] = []
        var type: String?
        for value in values {
            let rest = Substring(value.unicodeScalars.dropFirst())
            let equals = rest.unicodeScalars.firstIndex(of: "=") ?? rest.endIndex
            let name = String(rest[..<equals])
            let text = String(rest.unicodeScalars[equals...].dropFirst())
            switch value.unicodeScalars.first {
            case "h": headers.append((name, text))
            case "q": query.append((name, text))
            case "a": attributes.append(SourceEvent.Attribute(name, text))
            case "t": type = String(rest)
            default: break
            }
        }
        return TemplateScope(payload: payload, headers: headers, query: query, attributes: attributes, type: type)
    }

    // MARK: Laws

    /// The printed text is within the limit, is the template again, and gives the same results.
    private static func printFault(_ template: PayloadTemplate, _ scope: TemplateScope) -> String? {
        let printed = template.description
        do throws(TemplateError) {
            let again = try PayloadTemplate(printed)
            guard again == template, sameBytes(again.description, printed) else {
                return "\(printed.debugDescription) reads back as \(again.description.debugDescription)"
            }
            return again.evaluate(scope) == template.evaluate(scope) ? nil : "\(printed) has another result"
        } catch {
            return "the printed text \(printed.debugDescription) is refused: \(error)"
        }
    }

    /// A result is a text that can be a content id, or has a reason.
    private static func resultFault(_ template: PayloadTemplate, _ scope: TemplateScope, _ limit: Int) -> String? {
        let outcome = template.evaluate(scope, limit: limit)
        guard outcome == template.evaluate(scope, limit: limit) else { return "\(template) has two results" }
        switch outcome {
        case .text(let text):
            guard (1...limit).contains(text.utf8.count), isOneLine(text) else {
                return "\(template) gives \(text.debugDescription)"
            }
            return (try? ContentID(text)) == nil ? "\(template) gives no content id: \(text.debugDescription)" : nil
        case .missing(let paths):
            let isMissing = !paths.isEmpty && paths.allSatisfy { scope.text(at: $0) == nil }
            return isMissing && isOneLine(outcome.description) ? nil : "\(template) misses \(outcome)"
        case .unusable(.tooLong(let told)): return told == limit ? nil : "\(template) is longer than \(told) bytes"
        case .unusable(.dotSegment(let path)):
            let isThere = scope.text(at: path)?.utf8.contains(UInt8(ascii: ".")) == true
            return isThere && isOneLine(outcome.description) ? nil : "\(template) has no dots at \(path)"
        }
    }

    /// A table that is taken is the same when it is written and read.
    private static func tableFault(_ value: JSONValue) -> String? {
        guard let table = try? TemplateTable(value) else { return nil }
        let written = table.json
        guard let again = try? TemplateTable(written), again == table else {
            return "the table reads back differently: \(String(decoding: written.serialized(), as: UTF8.self))"
        }
        return nil
    }

    private static func errorFault(_ error: TemplateError, _ text: String) -> String? {
        guard let offset = error.offset, (0...text.utf8.count).contains(offset), error.length >= 0,
            error.length <= text.utf8.count - offset, error.pointer.isEmpty
        else { return "the error \(error) is outside of \(text.debugDescription)" }
        guard isOneLine(error.message), isOneLine(error.description) else { return "the error \(error) has two lines" }
        let lines = (error.caret ?? "").split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count == 2, let marker = lines.last?.drop(while: { $0 == " " }), marker.first == "^",
            marker.dropFirst().allSatisfy({ $0 == "~" }), lines.allSatisfy({ $0.count <= 80 })
        else { return "the error \(error) is drawn as \(lines)" }
        return nil
    }

    private static func isOneLine(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { !($0.value < 0x20 || (0x7F...0x9F).contains($0.value)) }
    }
}
