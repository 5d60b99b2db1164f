package import RouterPlugin

/// The format in which an endpoint wants its requests: the name of a kind, and options for it.
package struct DeliveryFormatChoice: Hashable, Sendable {
    /// The kind's name.
    package let id: PluginID
    /// An object without `id`.
    package let options: JSONDocument

    package init(_ id: PluginID, options: JSONObject = JSONObject()) {
        self.id = id
        self.options = JSONDocument(.object(options))
    }

    /// The standard envelope.
    package static let standard = DeliveryFormatChoice(PluginID(unchecked: "routerd.format.standard"))

    package var isStandard: Bool { self == .standard }

    /// The object that stands for it in the API and in the store: `id`, and the options.
    package var json: JSONObject {
        var object = JSONObject()
        object["id"] = .string(id.text)
        for member in options.value.asObject?.members ?? [] { object[member.key] = member.value }
        return object
    }

    /// Reads the object that stands for it; nil if it names no kind.
    package init?(json: JSONValue) {
        guard var object = json.asObject, case .string(let name)? = object["id"] else { return nil }
        object["id"] = nil
        self.init(PluginID(unchecked: name), options: object)
    }
}
