import RouterPlugin

extension SourceRequest {
    /// The value of a header that proves the sender; nil if it is missing.
    ///
    /// - Throws: an error with that code if the header occurs more than once or is no text.
    func proof(_ name: String, code: String = "signature-invalid") throws(SourceError) -> String? {
        do {
            return try header(name)
        } catch {
            throw SourceError(code: code, message: error.message, kind: .unauthenticated)
        }
    }
}

extension SourceError {
    /// The refusal of a request without a header that proves its sender.
    static func missingProof(_ header: String) -> SourceError {
        let message = "The header \(header) is missing; the source verifies its sender by it."
        return SourceError(code: "signature-missing", message: message, kind: .unauthenticated)
    }

    /// The refusal of a request whose signature is that of another secret, another body or another time.
    static func invalidSignature(_ header: String) -> SourceError {
        let message = "The header \(header) has no signature of this request under the source's secrets."
        return SourceError(code: "signature-invalid", message: message, kind: .unauthenticated)
    }

    /// The refusal of a request with a valid signature of another time.
    static func outsideWindow(toleranceSeconds: Int64) -> SourceError {
        let message = "The signed timestamp must be within \(toleranceSeconds) seconds of the time of arrival."
        return SourceError(code: "timestamp-outside-window", message: message, kind: .unauthenticated)
    }

    /// The refusal of a timestamp in another form.
    static var invalidTimestamp: SourceError {
        let message = "The signed timestamp must be whole seconds since 1970 in decimal digits."
        return SourceError(code: "timestamp-invalid", message: message, kind: .unauthenticated)
    }

    /// The refusal of credentials that are none of the source's secrets.
    static func invalidCredentials(_ header: String) -> SourceError {
        let message = "The header \(header) does not present one of the source's secrets."
        return SourceError(code: "credentials-invalid", message: message, kind: .unauthenticated)
    }
}
