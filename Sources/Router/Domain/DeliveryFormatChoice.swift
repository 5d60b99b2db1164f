package import RouterPlugin

/// The format of an endpoint's requests: the name of a kind, and its options.
///
/// Every endpoint has one, and almost every one is the standard format. The standard format is nil here, so that copies
/// of sessions and attempts count no references for it.
package struct DeliveryFormatChoice: Hashable, Sendable {
    private final class Other: Sendable {
        let id: PluginID
        let options: JSONDocument

        init(_ id: PluginID, _ options: JSONDocument) {
            self.id = id
            self.options = options
        }
    }

    private static let standardID = PluginID(unchecked: "routerd.format.standard")
    private let other: Other?

    package init(_ id: PluginID, options: JSONObject = JSONObject()) {
        other = id == Self.standardID && options.isEmpty ? nil : Other(id, JSONDocument(.object(options)))
    }

    private init() { other = nil }

    /// The standard envelope.
    package static var standard: DeliveryFormatChoice { DeliveryFormatChoice() }

    /// The kind's name.
    package var id: PluginID { other?.id ?? Self.standardID }
    /// The options, an object without `id`.
    package var options: JSONDocument { other?.options ?? .emptyObject }

    package var isStandard: Bool { other == nil }

    package static func == (left: Self, right: Self) -> Bool {
        left.other === right.other || left.id == right.id && left.options == right.options
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(options)
    }

    /// The object that represents it in the API and in the store: `id`, and the options.
    package var json: JSONObject {
        var object = JSONObject()
        object["id"] = .string(id.text)
        for member in options.value.asObject?.members ?? [] { object[member.key] = member.value }
        return object
    }

    /// Reads the object that represents it; nil if it names no kind.
    package init?(json: JSONValue) {
        guard var object = json.asObject, case .string(let name)? = object["id"] else { return nil }
        object["id"] = nil
        self.init(PluginID(unchecked: name), options: object)
    }
}
