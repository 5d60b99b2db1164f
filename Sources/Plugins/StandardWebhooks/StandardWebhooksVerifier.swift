internal import Crypto
public import RouterPlugin

/// Verifies webhooks that were signed as Standard Webhooks 1.0.0 has it, versions `v1` and `v1a`.
///
/// Codes are compared in constant time. Signatures of other versions are skipped, and one that is valid under any of
/// the keys suffices.
public enum StandardWebhooksVerifier: Sendable {
    /// The greatest number of signatures that are checked, so that a header cannot buy unbounded work.
    public static let maximumSignatures = 16

    /// The greatest number of asymmetric checks. Each one hashes the body, and a signature does not name its key: with more keys fewer
    /// signatures are looked at, and one in any case.
    public static let maximumAsymmetricChecks = 20

    /// The id and the time of a webhook whose signature is valid.
    public struct Verified: Hashable, Sendable {
        /// `webhook-id`: the same for every repetition.
        public let id: String
        /// `webhook-timestamp`, in seconds since 1970.
        public let timestampSeconds: Int64
        /// The keys that have signed it, by their places in the list; never empty.
        public let keys: [Int]
    }

    /// Verifies a webhook as it was received: header names in lower case, the body byte for byte.
    ///
    /// A timestamp counts as too old when it is `toleranceSeconds` before `now` or earlier, and as too new when it is
    /// more than that after `now`. The window is checked last, so only the holder of a key is told that it was missed.
    ///
    /// - Throws: the first fault; neither secret nor signature occur in it.
    public static func verify(
        headers: [(name: String, value: String)], body: [UInt8], keys: [WebhookVerificationKey],
        now: Timestamp, toleranceSeconds: Int64 = 300
    ) throws(WebhookVerificationError) -> Verified {
        let id = try header("webhook-id", in: headers)
        // With a full stop in the id, the signature of one webhook would be that of another one as well.
        guard !id.isEmpty, !id.utf8.contains(UInt8(ascii: ".")) else { throw .invalidID }
        let timestamp = try header("webhook-timestamp", in: headers)
        let seconds = try seconds(of: timestamp)
        let signatures = try header("webhook-signature", in: headers).utf8
            .split(separator: UInt8(ascii: " "), maxSplits: maximumSignatures)
            .prefix(maximumSignatures)
        let codes = signatures.compactMap { Self.signature(of: $0, "v1,", length: SHA256.byteCount) }
        let publicKeys = keys.count { if case .asymmetric = $0 { true } else { false } }
        let asymmetric = signatures.compactMap { Self.signature(of: $0, "v1a,", length: 64) }
            .prefix(max(1, maximumAsymmetricChecks / max(1, publicKeys)))
        let message = asymmetric.isEmpty ? [] : StandardWebhooksSigner.message(id: id, timestamp: timestamp, body: body)
        let valid = keys.indices.filter { place in
            switch keys[place] {
            case .symmetric(let secret):
                let code = StandardWebhooksSigner.code(id: id, timestamp: timestamp, body: body, secret: secret)
                let expected = code.finalize()
                // `==` on authentication codes is constant time in swift-crypto.
                return codes.contains { expected == $0 }
            case .asymmetric(let key):
                return asymmetric.contains { key.isValid($0, of: message) }
            }
        }
        guard !valid.isEmpty else { throw .noMatchingSignature }
        try check(seconds, against: now, toleranceSeconds: toleranceSeconds)
        return Verified(id: id, timestampSeconds: seconds, keys: valid)
    }

    private static func header(
        _ name: String, in headers: [(name: String, value: String)]
    ) throws(WebhookVerificationError) -> String {
        let values = headers.filter { $0.name == name }.map(\.value)
        guard let value = values.first else { throw .missingHeader }
        guard values.count == 1 else { throw .duplicateHeader }
        return value
    }

    /// Digits only: a sign, or zeros in front, would be another text for the same time.
    private static func seconds(of text: String) throws(WebhookVerificationError) -> Int64 {
        guard let seconds = Int64(text), seconds >= 0, String(seconds).isSame(as: text) else {
            throw .invalidTimestamp
        }
        return seconds
    }

    private static func check(
        _ seconds: Int64, against now: Timestamp, toleranceSeconds: Int64
    ) throws(WebhookVerificationError) {
        let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        guard !overflow else { throw .timestampTooNew }
        let signed = Timestamp(milliseconds: milliseconds)
        let tolerance = toleranceSeconds * 1000
        guard signed > now.advanced(byMilliseconds: -tolerance) else { throw .timestampTooOld }
        guard signed <= now.advanced(byMilliseconds: tolerance) else { throw .timestampTooNew }
    }

    /// The signature after the version in an entry; nil for other versions, and for a text without the length of a
    /// signature.
    private static func signature(of entry: Substring.UTF8View, _ version: String, length: Int) -> [UInt8]? {
        guard entry.starts(with: version.utf8),
            let signature = Base64.decode(Substring(entry.dropFirst(version.utf8.count))), signature.count == length
        else { return nil }
        return signature
    }
}

/// The reason why a webhook is not genuine.
public enum WebhookVerificationError: String, Error, CaseIterable, Sendable, CustomStringConvertible {
    /// `webhook-id`, `webhook-timestamp` or `webhook-signature` is missing.
    case missingHeader = "webhook-header-missing"
    /// One of the three occurs more than once.
    case duplicateHeader = "duplicate-header"
    /// The id is empty or has a full stop.
    case invalidID = "webhook-id-invalid"
    /// The timestamp is not a whole number of seconds.
    case invalidTimestamp = "webhook-timestamp-invalid"
    /// The timestamp is too far in the past.
    case timestampTooOld = "webhook-timestamp-too-old"
    /// The timestamp is too far in the future.
    case timestampTooNew = "webhook-timestamp-too-new"
    /// No signature is valid under any of the keys.
    case noMatchingSignature = "webhook-signature-mismatch"

    /// Stable and in kebab-case.
    public var code: String { rawValue }

    /// One sentence for people.
    public var description: String {
        switch self {
        case .missingHeader: "The webhook needs the headers webhook-id, webhook-timestamp and webhook-signature."
        case .duplicateHeader: "A header of the webhook occurs more than once."
        case .invalidID: "The webhook's id is empty or has a full stop."
        case .invalidTimestamp: "The webhook's timestamp is not a whole number of seconds."
        case .timestampTooOld: "The webhook was signed too long ago."
        case .timestampTooNew: "The webhook was signed in the future."
        case .noMatchingSignature: "No signature of the webhook is valid under the keys."
        }
    }
}
