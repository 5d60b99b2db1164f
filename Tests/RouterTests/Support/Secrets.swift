import Router

// Most tests use one secret without an end.

extension Endpoint {
    init(url: String, secret: String) { self.init(url: url, keys: SigningKeys(secret)) }

    /// The secret, if there is one key and no window.
    var secret: String? { keys == keys.all.first.map { SigningKeys($0.secret) } ? keys.all.first?.secret : nil }
}

extension EndpointDraft {
    init(url: String, secret: String?, freshSecret: String) {
        self.init(url: url, keys: secret.map { SigningKeys($0) }, freshSecret: freshSecret)
    }
}

extension EndpointPatch {
    init(url: String?, secret: SessionPatch.Change<String>?, freshSecret: String) {
        let keys: SessionPatch.Change<SigningKeys>? =
            switch secret {
            case .set(let secret): .set(SigningKeys(secret))
            case .remove: .remove
            case nil: nil
            }
        self.init(url: url, keys: keys, freshSecret: freshSecret)
    }
}
