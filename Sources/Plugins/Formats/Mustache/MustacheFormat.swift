internal import Mustache
public import RouterPlugin

/// A body that a Mustache template writes.
///
///     options    {"template": "…", "contentType": "application/json"}
///     context    the message's fields, the payload as JSON, and a title and a text for people (see `TemplateContext`)
///     escaping   by the content type (see `TemplateEscaping`): in JSON no value can end the string that it stands in
///
/// Templates are Mustache's variables, sections, inverted sections and comments, with the functions of
/// `TemplateValue`. Partials, other delimiters and pragmas are refused, because a template stands for itself and keeps
/// its escaping. Every rendering is bounded in size and in work, whatever the payload holds.
public struct MustacheFormat: DeliveryFormat {
    /// The format's name.
    public static let id = PluginID(unchecked: "routerd.format.mustache")

    /// The name of the format's kind.
    public let id: PluginID

    /// The kind; its options are `template` and `contentType`, which is `application/json` if it is left out.
    public static let kind = DeliveryFormatKind(
        id: id, summary: "A body that a Mustache template writes.", fields: fields
    ) {
        (options) throws(PluginConfigurationError) in
        let configuration = try PluginConfiguration(options, declared: fields)
        let template = try configuration.required("template", try configuration.string("template"))
        let contentType = try configuration.string("contentType") ?? "application/json"
        guard let escaping = TemplateEscaping(of: contentType) else {
            throw configuration.invalid("contentType", because: TemplateEscaping.accepted)
        }
        do throws(TemplateFault) {
            return try MustacheFormat(id: id, template: template, contentType: contentType, escaping: escaping)
        } catch {
            throw configuration.invalid("template", because: error.reason)
        }
    }

    private static let fields = [
        PluginField("template", .string, .required, summary: "The template of the body."),
        PluginField(
            "contentType", .string, .byDefault("application/json"),
            summary: "The media type of the body, which decides how values are escaped."),
    ]

    private let template: MustacheTemplate
    private let contentType: String
    private let escaping: TemplateEscaping
    /// The cost of one turn of a section: no turn writes more of the template than the whole of it.
    private let turnCost: Int

    init(
        id: PluginID, template: String, contentType: String = "application/json", escaping: TemplateEscaping = .json
    ) throws(TemplateFault) {
        self.id = id
        self.template = try escaping.parse(template)
        self.contentType = contentType
        self.escaping = escaping
        turnCost = max(RenderingBudget.valueCost, template.utf8.count)
    }

    /// The template with the message's values.
    ///
    /// - Throws: `rendering-too-large`, and `rendering-not-json` if the content type is JSON and the rendering is none.
    public func render(_ message: DeliveryMessage) throws(DeliveryFormatError) -> RenderedRequest {
        let budget = RenderingBudget(turnCost: turnCost)
        let context = TemplateValue(.object(TemplateContext.object(for: message)), escaping, budget)
        let text = template.render(context)
        guard !budget.isExhausted, text.utf8.count <= DeliveryFormatLimits.bodyBytes else {
            let message = "The rendering of the template has more than \(DeliveryFormatLimits.bodyBytes) bytes."
            throw DeliveryFormatError(code: "rendering-too-large", message: message)
        }
        let body = Array(text.utf8)
        if escaping == .json { try Self.checkJSON(body) }
        return RenderedRequest(contentType: contentType, body: body)
    }

    private static func checkJSON(_ body: [UInt8]) throws(DeliveryFormatError) {
        let limits = JSONLimits(maximumBytes: DeliveryFormatLimits.bodyBytes, maximumDepth: JSONLimits.deepest)
        do throws(JSONError) {
            _ = try JSONValue(parsing: body, limits: limits)
        } catch {
            let message = "The rendering of the template is not JSON: \(error.code) at byte \(error.offset)."
            throw DeliveryFormatError(code: "rendering-not-json", message: message)
        }
    }
}

/// The work that one rendering may still do, in bytes.
///
/// It is not shared between renderings. A rendering that has used it up goes on with empty values and is thrown away.
final class RenderingBudget {
    private static let bytes = 2 * DeliveryFormatLimits.bodyBytes

    /// The approximate cost of a value that is made for a section.
    static let valueCost = 64

    private var left = RenderingBudget.bytes
    private let turnCost: Int

    init(turnCost: Int) { self.turnCost = turnCost }

    var isExhausted: Bool { left < 0 }

    /// Pays for that many bytes; false if there is not enough left.
    func pay(_ bytes: Int) -> Bool {
        guard left >= 0 else { return false }
        left -= bytes
        return left >= 0
    }

    /// A text, if there is enough left for it; once there is not, none is made any more.
    func paid(_ text: () -> String) -> String {
        guard left >= 0 else { return "" }
        let text = text()
        return pay(text.utf8.count) ? text : ""
    }

    /// Pays for one turn of a section.
    func payTurn() -> Bool { pay(turnCost) }
}
