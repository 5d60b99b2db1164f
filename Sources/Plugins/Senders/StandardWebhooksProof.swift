import RouterPlugin

/// The way of a sender that signs as Standard Webhooks has it, under the header names of the specification or the
/// legacy ones of Svix.
enum StandardWebhooksProof {
    /// The beginnings of the headers' names; the first that has a signature counts.
    private static let families = ["webhook-", "svix-"]

    /// Whether the request bears a signature.
    static func isBorne(by request: SourceRequest) -> Bool { family(of: request) != nil }

    /// The beginning of the names of the headers that the signature covers. A header of the other family is not signed.
    private static func family(of request: SourceRequest) -> String? {
        families.first { family in request.headers.contains { $0.name.isSame(as: family + "signature") } }
    }

    /// Checks the signature, then the timestamp.
    static func verify(_ request: SourceRequest, with keys: [WebhookVerificationKey]) throws(SourceError) {
        do {
            _ = try StandardWebhooksVerifier.verify(
                headers: renamed(request), body: request.body, keys: keys, now: request.receivedAt,
                toleranceSeconds: SenderLimits.toleranceSeconds)
        } catch {
            switch error {
            case .missingHeader:
                throw SourceError(code: "signature-missing", message: error.description, kind: .unauthenticated)
            case .timestampTooNew, .timestampTooOld:
                throw .outsideWindow(toleranceSeconds: SenderLimits.toleranceSeconds)
            case .duplicateHeader:
                throw SourceError(code: "signature-invalid", message: error.description, kind: .unauthenticated)
            case .invalidID: throw SourceError(code: error.code, message: error.description, kind: .unauthenticated)
            case .invalidTimestamp: throw .invalidTimestamp
            case .noMatchingSignature: throw .invalidSignature("webhook-signature")
            }
        }
    }

    /// The signed id of the webhook, the same for every repetition; nil if it is missing.
    static func id(of request: SourceRequest) throws(SourceError) -> String? {
        try request.deliveryID(in: (family(of: request) ?? "webhook-") + "id")
    }

    /// The headers with Svix's names replaced, where the request has no signature under the other name.
    private static func renamed(_ request: SourceRequest) -> [(name: String, value: String)] {
        guard family(of: request) == "svix-" else { return request.headers }
        return request.headers.compactMap { field in
            if field.name.hasPrefix("webhook-") { return nil }
            guard field.name.hasPrefix("svix-") else { return field }
            return (name: "webhook-" + field.name.dropFirst("svix-".count), value: field.value)
        }
    }
}
