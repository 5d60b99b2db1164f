/// Templates by type of event, with `*` for all types that have none of their own.
///
///     "app://{id}"                                              one template for every type
///     { "issues": "gh://{issue.number}", "*": "gh://{id}" }     by type
///
/// Types are compared by their bytes. A table has 1 to `TemplateLimits.tableEntries` templates.
public struct TemplateTable: Hashable, Sendable {
    private var byType: [ByteExactText: PayloadTemplate] = [:]
    private var rest: PayloadTemplate?

    /// One template for events of every type.
    public init(_ template: PayloadTemplate) {
        rest = template
    }

    /// One template, as text, for events of every type.
    public init(_ text: String) throws(TemplateError) {
        self.init(try PayloadTemplate(text))
    }

    /// A string, or an object of strings by type of event.
    ///
    /// - Throws: the first fault, with the pointer to the member at fault.
    public init(_ value: JSONValue) throws(TemplateError) {
        switch value {
        case .string(let text): try self.init(text)
        case .object(let object): try self.init(members: object.members.map { ($0.key, $0.value) })
        default:
            let message = "Templates are a string, or an object of strings by type of event."
            throw TemplateError(.wrongType, message, pointer: "")
        }
    }

    /// Templates as text by type of event, such as those of `SourceDefaults`.
    public init(_ templates: [String: String]) throws(TemplateError) {
        let keys = templates.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        try self.init(members: keys.map { ($0, templates[$0].map(JSONValue.string) ?? .null) })
    }

    private init(members: [(type: String, value: JSONValue)]) throws(TemplateError) {
        guard !members.isEmpty else {
            throw TemplateError(.emptyTable, "There must be at least one template.", pointer: "")
        }
        guard members.count <= TemplateLimits.tableEntries else {
            let message = "There are at most \(TemplateLimits.tableEntries) templates."
            throw TemplateError(.tooManyTemplates, message, pointer: "")
        }
        for (type, value) in members {
            let pointer = "/" + escapedForPointer(type)
            guard Self.isType(type) else {
                let message = """
                    A type of event has 1 to \(TemplateLimits.typeBytes) bytes, no control characters and no *; \
                    * alone stands for all other types.
                    """
                throw TemplateError(.invalidEventType, message, pointer: pointer)
            }
            guard case .string(let text) = value else {
                throw TemplateError(.wrongType, "A template is a string.", pointer: pointer)
            }
            let template: PayloadTemplate
            do { template = try PayloadTemplate(text) } catch { throw error.within(pointer) }
            if type == "*" { rest = template } else { byType[ByteExactText(type)] = template }
        }
    }

    private static func isType(_ type: String) -> Bool {
        guard (1...TemplateLimits.typeBytes).contains(type.utf8.count) else { return false }
        return type == "*"
            || type.unicodeScalars.allSatisfy {
                $0 != "*" && $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value)
            }
    }

    /// The template for events of a type; nil if there is none for it and none for the rest.
    public func template(for type: String?) -> PayloadTemplate? {
        type.flatMap { byType[ByteExactText($0)] } ?? rest
    }

    /// The result of the template for the scope's type; nil if there is no template for it.
    public func evaluate(
        _ scope: TemplateScope, limit: Int = TemplateLimits.resultBytes
    ) -> PayloadTemplate.Outcome? {
        template(for: scope.type)?.evaluate(scope, limit: limit)
    }

    /// A string if one template serves all types, else an object with its types in order of their bytes and `*` last.
    /// Reading it gives an equal table.
    public var json: JSONValue {
        if byType.isEmpty, let rest { return .string(rest.description) }
        var object = JSONObject()
        for type in byType.keys.sorted(by: { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }) {
            object[type.text] = byType[type].map { .string($0.description) }
        }
        if let rest { object["*"] = .string(rest.description) }
        return .object(object)
    }
}
