internal import Mustache
import RouterPlugin

/// A JSON value as templates see it.
///
/// A section of an array is written once for each element; one of null, false or an empty string is not written, and
/// one of anything else is written once. Functions on values: `empty(x)`, `count(x)`, `first(x)`, `last(x)`,
/// `reversed(x)`, `enumerated(x)` (the members of an object as `key` and `value`), `lowercased(x)`, `uppercased(x)` and
/// `mrkdwn(x)` (Slack's escapes). Within a section of an array the library has `first()`, `last()`, `index()`, `even()`
/// and `odd()`.
struct TemplateValue: MustacheParent, MustacheCustomRenderable, MustacheTransformable {
    private let value: JSONValue
    private let escaping: TemplateEscaping
    private let budget: RenderingBudget

    init(_ value: JSONValue, _ escaping: TemplateEscaping, _ budget: RenderingBudget) {
        self.value = value
        self.escaping = escaping
        self.budget = budget
    }

    /// The library looks for truth values and sequences by their types.
    static func wrapped(_ value: JSONValue, _ escaping: TemplateEscaping, _ budget: RenderingBudget) -> Any {
        switch value {
        case .bool(let value): value
        case .array(let elements): TemplateList(elements, escaping, budget)
        default: TemplateValue(value, escaping, budget)
        }
    }

    func child(named name: String) -> Any? { value[name].map { Self.wrapped($0, escaping, budget) } }

    var renderText: String {
        budget.paid { escaping.text(of: value) }
    }

    /// Whether a section of it is left out.
    var isNull: Bool { value == .null || value == .string("") }

    func transform(_ name: String) -> Any? {
        switch (name, value) {
        case ("empty", .null): return true
        case ("empty", .string(let text)): return text.isEmpty
        case ("empty", .object(let object)): return object.isEmpty
        case ("count", .object(let object)): return object.count
        case ("enumerated", .object(let object)):
            guard budget.pay(object.count * RenderingBudget.valueCost) else { return nil }
            let members = object.members.map { member -> JSONValue in
                ["key": .string(member.key), "value": member.value]
            }
            return TemplateList(members, escaping, budget)
        case ("lowercased", .string(let text)): return changed(text) { $0.lowercased() }
        case ("uppercased", .string(let text)): return changed(text) { $0.uppercased() }
        case ("mrkdwn", .string(let text)): return changed(text, SlackText.escaped)
        default: return nil
        }
    }

    private func changed(_ text: String, _ change: (String) -> String) -> TemplateValue? {
        guard budget.pay(text.utf8.count) else { return nil }
        return TemplateValue(.string(change(text)), escaping, budget)
    }
}

/// A JSON array as templates see it.
struct TemplateList: MustacheSequence, MustacheParent, MustacheCustomRenderable, MustacheTransformable {
    private let elements: [JSONValue]
    private let escaping: TemplateEscaping
    private let budget: RenderingBudget

    init(_ elements: [JSONValue], _ escaping: TemplateEscaping, _ budget: RenderingBudget) {
        self.elements = elements
        self.escaping = escaping
        self.budget = budget
    }

    func makeIterator() -> AnyIterator<Any> {
        var place = 0
        return AnyIterator {
            guard place < elements.count, budget.payTurn() else { return nil }
            defer { place += 1 }
            return TemplateValue.wrapped(elements[place], escaping, budget)
        }
    }

    /// Elements have no names.
    func child(named name: String) -> Any? { nil }

    var renderText: String {
        budget.paid { escaping.text(of: .array(elements)) }
    }

    var isNull: Bool { elements.isEmpty }

    func transform(_ name: String) -> Any? {
        switch name {
        case "empty": return elements.isEmpty
        case "count": return elements.count
        case "first": return elements.first.map { TemplateValue.wrapped($0, escaping, budget) }
        case "last": return elements.last.map { TemplateValue.wrapped($0, escaping, budget) }
        case "reversed":
            guard budget.pay(elements.count * RenderingBudget.valueCost) else { return nil }
            return TemplateList(elements.reversed(), escaping, budget)
        default: return nil
        }
    }
}

/// Text for Slack.
enum SlackText {
    /// The three escapes without which a text could mention channels and people.
    ///
    /// Source: Slack, "Formatting text for app surfaces", on escaping.
    static func escaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "<"): bytes += "&lt;".utf8
            case UInt8(ascii: ">"): bytes += "&gt;".utf8
            case UInt8(ascii: "&"): bytes += "&amp;".utf8
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
