package import RouterPlugin

/// The rights of a caller of the HTTP API.
package enum APIScope: String, CaseIterable, Hashable, Sendable {
    /// Send notifications, explain decisions, read notifications.
    case ingest
    /// Register, change and discard scene sessions.
    case sessions
    /// Everything.
    case admin
    /// Everything that only reads; no deliveries, which a receiver takes by reading.
    case read
    /// The metrics.
    case metrics
}

/// A key of the HTTP API: never the key itself, only its SHA-256.
package struct APIKey: Hashable, Sendable {
    package let name: String
    package let digest: [UInt8]
    package let scopes: Set<APIScope>
    /// The one application that the key is for; nil for all.
    package let application: ApplicationID?
    /// How many requests the key may send in a second; nil for any number.
    package let requestsPerSecond: Int?
    /// The time of the request that made the key; nil for a key of the configuration.
    package let createdAt: Timestamp?

    package init(
        name: String, digest: [UInt8], scopes: Set<APIScope>, application: ApplicationID?,
        requestsPerSecond: Int? = nil, createdAt: Timestamp? = nil
    ) {
        self.name = name
        self.digest = digest
        self.scopes = scopes
        self.application = application
        self.requestsPerSecond = requestsPerSecond
        self.createdAt = createdAt
    }
}

/// Names an API key created by a request.
package typealias APIKeyID = Identifier<APIKeyKind>

package enum APIKeyKind: IdentifierKind {
    /// Letters, digits, `.`, `-` and `_`.
    package static let rule = IdentifierRule(
        name: "key-name", maximumLength: 128, allows: IdentifierKinds.Source.rule.allows)
}

/// A key as a request gives it.
package struct APIKeyDraft: Sendable {
    package var id: APIKeyID
    package var scopes: Set<APIScope>
    package var application: ApplicationID?
    package var requestsPerSecond: Int?
    /// The SHA-256 of the client's key; nil keeps that of a known key.
    package var digest: [UInt8]?
    /// The SHA-256 of a generated key, taken if the client has none and the key is new.
    package var freshDigest: [UInt8]

    package init(
        id: APIKeyID, scopes: Set<APIScope>, application: ApplicationID?, requestsPerSecond: Int?, digest: [UInt8]?,
        freshDigest: [UInt8]
    ) {
        self.id = id
        self.scopes = scopes
        self.application = application
        self.requestsPerSecond = requestsPerSecond
        self.digest = digest
        self.freshDigest = freshDigest
    }
}

/// The refusal of a change of a key.
package enum KeyRefusal: Hashable, Sendable {
    case unknown(APIKeyID)
    /// The name is taken by another application's key.
    case taken(APIKeyID)
    /// Another key has the same SHA-256.
    case digestTaken
    /// The application, or all applications together, have as many keys as they may have.
    case tooMany(limit: Int)
}
