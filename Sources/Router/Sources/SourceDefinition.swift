package import PredicateEngine
package import RouterPlugin

/// A configured source: turns one sender's requests into notifications of one application.
package struct SourceDefinition: Hashable, Sendable {
    /// The outcome where the template of the content id finds nothing.
    package enum MissingContent: String, CaseIterable, Hashable, Sendable {
        /// The notification names no content.
        case absent
        /// The whole request is refused.
        case refuse
    }

    package var id: SourceID
    package var application: ApplicationID
    package var kind: PluginID
    /// The sender's secrets, each with its window.
    package var secrets: [SigningKey]
    /// The options of the kind, an object.
    package var options: JSONValue
    /// The templates of the content id by type of event; nil leaves it to the event and to the kind's defaults.
    package var contentID: TemplateTable?
    package var device: PayloadTemplate?
    package var dedupeID: PayloadTemplate?
    /// The condition that an event's payload must meet; events that do not are left out.
    package var filter: PayloadPredicate?
    package var onMissing: MissingContent
    /// The priority of events that have none of their own.
    package var priority: Priority?
    /// The lifetime of events without an expiration of their own, in seconds.
    package var expiresInSeconds: Int?

    package init(id: SourceID, application: ApplicationID, kind: PluginID) {
        self.id = id
        self.application = application
        self.kind = kind
        secrets = []
        options = .object(JSONObject())
        onMissing = .absent
    }

    /// The secrets that are valid at a time.
    package func secrets(at now: Timestamp) -> [SourceSecret] {
        secrets.filter { $0.isValid(at: now) }.map { SourceSecret($0.secret) }
    }

    /// The name under which notifications and dedupe keys of the source are kept.
    package var scope: PluginID { PluginID(unchecked: "sources/\(id)") }
}

/// A source as a client gives it.
package struct SourceDraft: Hashable, Sendable {
    /// The definition without secrets.
    package var definition: SourceDefinition
    /// The secrets; nil keeps the existing ones.
    package var secrets: [SigningKey]?

    package init(definition: SourceDefinition, secrets: [SigningKey]?) {
        self.definition = definition
        self.secrets = secrets
    }
}
