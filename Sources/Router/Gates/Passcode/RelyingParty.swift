package import RouterPlugin

/// The pages whose authenticators stand in for the passcode, in the terms of W3C Web Authentication, Level 2.
package struct RelyingParty: Hashable, Sendable {
    /// The RP ID: the domain that a credential is bound to.
    package var id: String
    /// The origins of the pages, as browsers write them: `https://till.example`.
    package var origins: [String]

    package init(id: String, origins: [String]) {
        self.id = id
        self.origins = origins
    }
}

extension RelyingParty {
    /// The relying party in the words of the API.
    package var json: JSONObject {
        var object = JSONObject()
        object["rpId"] = .string(id)
        object["origins"] = .array(origins.map { .string($0) })
        return object
    }
}
