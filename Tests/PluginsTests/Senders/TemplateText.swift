import RouterPlugin

/// A preset's template, filled from a payload by the template engine itself.
struct TemplateText {
    let text: String

    init(_ text: String) { self.text = text }

    /// The text with every hole filled; nil if a place of the payload is missing.
    func filled(from payload: JSONValue, attributes: [SourceEvent.Attribute] = []) -> String? {
        (try? PayloadTemplate(text))?.evaluate(TemplateScope(payload: payload, attributes: attributes)).text
    }
}
