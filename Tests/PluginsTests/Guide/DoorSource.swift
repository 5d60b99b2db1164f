import RouterPlugin

/// Takes the events of door controllers: JSON with the key of the controller in the header `x-door-key`.
struct DoorSource: PayloadSource {
    static let kind = PayloadSourceKind(
        id: PluginID(unchecked: "com.example.source.door"), version: "1.0.0",
        summary: "Takes the events of door controllers.", secrets: .required
    ) { (options) throws(PluginConfigurationError) in
        _ = try PluginConfiguration(options, declared: [])
        return DoorSource()
    }

    var id: PluginID { Self.kind.id }
    let defaults = SourceDefaults(contentID: ["*": "door://{header.x-door}"])

    func verify(_ request: SourceRequest, with secrets: [SourceSecret]) throws(SourceError) {
        let given = try request.header("x-door-key") ?? ""
        guard secrets.contains(where: { $0.matches(given) }) else {
            throw SourceError(
                code: "credentials-invalid", message: "The header x-door-key has no key of this source.",
                kind: .unauthenticated)
        }
    }

    func decode(_ request: SourceRequest) throws(SourceError) -> SourceDecoding {
        SourceDecoding([SourceEvent(type: "door", payload: request.body)])
    }
}
