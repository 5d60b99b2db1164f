/// The refusal of a request by a source.
public struct SourceError: Error, Hashable, Sendable {
    /// The reason, as far as it decides the status of the answer.
    public enum Kind: String, CaseIterable, Sendable {
        /// The request is not of the form that the source takes: 400.
        case malformed
        /// The sender is not known: 401. Codes are `signature-missing`, `signature-invalid`,
        /// `timestamp-outside-window` and `credentials-invalid`.
        case unauthenticated
        /// The request is well-formed and says something that the source does not take: 422.
        case unprocessable
    }

    /// Stable and in kebab-case.
    public let code: String
    /// One or two sentences for people; never quotes a secret.
    public let message: String
    /// The place of the fault in the body, in bytes, if it is at one place.
    public let offset: Int?
    /// The reason's kind.
    public let kind: Kind

    /// All parts at once.
    public init(code: String, message: String, offset: Int? = nil, kind: Kind = .malformed) {
        self.code = code
        self.message = message
        self.offset = offset
        self.kind = kind
    }
}
