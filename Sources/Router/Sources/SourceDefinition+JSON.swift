import PredicateEngine
package import RouterPlugin

extension SourceDefinition {
    private static let fields = [
        "kind", "application", "options", "contentId", "device", "dedupeId", "filter", "onMissing", "priority",
        "expiresInSeconds",
    ]

    /// Reads a definition in the words of the API, without its secrets. The caller checks the kind and its options.
    ///
    /// - Throws: The first fault with its pointer; faults of templates and of the filter keep their own codes.
    package init(id: SourceID, reading value: JSONValue) throws(PluginConfigurationError) {
        let body = try PluginConfiguration(value, fields: Self.fields)
        let kind = try body.required("kind", body.string("kind"))
        guard let plugin = try? PluginID(kind) else { throw body.invalid("kind", because: "is not the name of a kind") }
        let name = try body.required("application", body.string("application"))
        guard let application = try? ApplicationID(name) else {
            throw body.invalid("application", because: "must be the name of an application")
        }
        self.init(id: id, application: application, kind: plugin)
        if let options = try body.object("options") { self.options = options }
        contentID = try Self.read(body.value("contentId"), at: "/contentId") { (value) throws(TemplateError) in
            try TemplateTable(value)
        }
        device = try Self.template("device", body)
        dedupeID = try Self.template("dedupeId", body)
        filter = try Self.filter(body)
        if let word = try body.string("onMissing") {
            guard let choice = MissingContent(rawValue: word) else {
                throw body.invalid("onMissing", because: "must be absent or refuse")
            }
            onMissing = choice
        }
        priority = try body.priority("priority")
        expiresInSeconds = try body.integer("expiresInSeconds", in: 0...31_536_000).map { Int($0) }
    }

    private static func template(
        _ field: String, _ body: PluginConfiguration
    ) throws(PluginConfigurationError) -> PayloadTemplate? {
        guard let text = try body.string(field) else { return nil }
        return try read(.string(text), at: "/\(field)") { (_) throws(TemplateError) in try PayloadTemplate(text) }
    }

    private static func read<Template>(
        _ value: JSONValue?, at pointer: String, _ make: (JSONValue) throws(TemplateError) -> Template
    ) throws(PluginConfigurationError) -> Template? {
        guard let value else { return nil }
        do throws(TemplateError) {
            return try make(value)
        } catch {
            let place = error.caret.map { "\n\($0)" } ?? ""
            throw PluginConfigurationError(
                code: error.code.rawValue, pointer: pointer + error.pointer, message: error.message + place)
        }
    }

    private static func filter(_ body: PluginConfiguration) throws(PluginConfigurationError) -> PayloadPredicate? {
        guard let text = try body.string("filter") else { return nil }
        do throws(PredicateError) {
            return try PayloadPredicate(format: text)
        } catch {
            throw PluginConfigurationError(
                code: error.code.rawValue, pointer: "/filter", message: "\(error.message)\n\(error.caret(in: text))")
        }
    }

    /// Writes the definition in the words of the API, without its secrets. Reading it again gives an equal definition.
    ///
    /// - Parameter kind: The name of the kind as it is to be written.
    package func write(kind: String, to object: inout JSONObjectWriter) {
        object.field("kind", kind)
        object.field("application", application)
        if options.asObject?.isEmpty == false { object.field("options", options) }
        object.field("contentId", contentID?.json)
        object.field("device", device?.description)
        object.field("dedupeId", dedupeID?.description)
        object.field("filter", filter?.description)
        object.field("onMissing", onMissing.rawValue)
        object.field("priority", priority?.rawValue)
        object.field("expiresInSeconds", expiresInSeconds)
    }

    /// The document that the store keeps.
    package var document: [UInt8] { JSONWriter.object { write(kind: kind.text, to: &$0) } }
}
