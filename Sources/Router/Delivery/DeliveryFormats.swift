package import RouterPlugin

/// The formats that endpoints can have.
package struct DeliveryFormats: Sendable {
    private let kinds: [DeliveryFormatKind]

    package init(_ kinds: [DeliveryFormatKind]) { self.kinds = kinds }

    /// Reads the choice of a client, the name of a kind or an object with the name and options, and creates the format
    /// once to check the options. The prefix `routerd.format.` of built-in kinds may be left out.
    ///
    /// - Throws: an error whose pointer begins at the value.
    package func choice(reading value: JSONValue) throws(PluginConfigurationError) -> DeliveryFormatChoice {
        var object = value.asObject ?? JSONObject()
        let isShort = value.asString != nil
        guard isShort || value.asObject != nil else {
            throw error("wrong-type", "", "A format must be the name of one, or an object.")
        }
        let pointer = isShort ? "" : "/id"
        guard let name = isShort ? value : object["id"] else {
            throw error("missing-field", "/id", "The field id is missing.")
        }
        guard case .string(let name) = name else {
            throw error("wrong-type", pointer, "The field id must be a string.")
        }
        guard let kind = kind(named: name) else {
            let known = kinds.map(\.id.text).joined(separator: ", ")
            throw error("unknown-plugin", pointer, "There is no such format; the formats are: \(known).")
        }
        object["id"] = nil
        let choice = DeliveryFormatChoice(kind.id, options: object)
        guard choice.options.bytes.count <= RouterLimits.formatBytes else {
            throw error("invalid-value", "", "The options of a format may have \(RouterLimits.formatBytes) bytes.")
        }
        do throws(PluginConfigurationError) {
            _ = try kind.make(.object(object))
        } catch {
            // A name alone has no options to point at.
            throw isShort ? PluginConfigurationError(code: error.code, pointer: "", message: error.message) : error
        }
        return choice
    }

    /// Creates the chosen format.
    ///
    /// - Throws: `unknown-format` or `invalid-format` if the kinds differ from those at the time of the choice.
    package func format(_ choice: DeliveryFormatChoice) throws(DeliveryFormatError) -> any DeliveryFormat {
        guard let kind = kinds.first(where: { $0.id == choice.id }) else {
            throw DeliveryFormatError(code: "unknown-format", message: "The daemon has no format \(choice.id).")
        }
        do throws(PluginConfigurationError) {
            return try kind.make(choice.options.value)
        } catch {
            throw DeliveryFormatError(code: "invalid-format", message: "The format \(choice.id): \(error.message)")
        }
    }

    private func kind(named name: String) -> DeliveryFormatKind? {
        kinds.first { $0.id.text.isSame(as: name) || $0.id.text.isSame(as: "routerd.format." + name) }
    }

    private func error(_ code: String, _ pointer: String, _ message: String) -> PluginConfigurationError {
        PluginConfigurationError(code: code, pointer: pointer, message: message)
    }
}
