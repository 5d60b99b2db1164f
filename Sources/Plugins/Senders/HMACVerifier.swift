import Crypto
import RouterPlugin

/// Verifies requests that carry an HMAC (RFC 2104) of their content in a header; data that says how one sender does it.
///
///     X-Hub-Signature-256: sha256=757107…        prefix "sha256=", hex, of the body
///     X-Slack-Signature: v0=a2114d…              prefix "v0=", hex, of "v0:" timestamp ":" body
///     Stripe-Signature: t=1614265330,v1=e135cd…  fields t and v1, hex, of timestamp "." body
///
/// The signature is checked before the timestamp: only the holder of a secret is told that a timestamp is outside of
/// the window, and every other request is refused in the same way whatever its timestamp.
struct HMACVerifier: Hashable, Sendable {
    /// A hash function under the HMAC.
    enum Algorithm: String, CaseIterable, Sendable {
        /// Still unbroken as HMAC, and the only algorithm of old senders.
        case sha1
        /// The usual one.
        case sha256
        /// 64 bytes.
        case sha512

        /// The authentication code of the parts, one after the other; they are fed as they are and not joined.
        func code(over parts: [[UInt8]], key: [UInt8]) -> [UInt8] {
            switch self {
            case .sha1: Self.code(Insecure.SHA1.self, over: parts, key: key)
            case .sha256: Self.code(SHA256.self, over: parts, key: key)
            case .sha512: Self.code(SHA512.self, over: parts, key: key)
            }
        }

        private static func code<Hash: HashFunction>(_: Hash.Type, over parts: [[UInt8]], key: [UInt8]) -> [UInt8] {
            var code = HMAC<Hash>(key: SymmetricKey(data: key))
            for part in parts { code.update(data: part) }
            return Array(code.finalize())
        }
    }

    /// The places of the signatures in the header's value.
    enum Layout: Hashable, Sendable {
        /// The whole value is one signature.
        case single
        /// Signatures between separators.
        case list(separator: UInt8)
        /// `NAME=VALUE` between commas, as Stripe writes it: one timestamp, any number of signatures.
        case fields(timestamp: String, signature: String)
    }

    /// The header with the signature, in lower case.
    var header: String
    /// The hash function.
    var algorithm = Algorithm.sha256
    /// The spelling of the signature.
    var encoding = SignatureEncoding.hex
    /// The text before each signature; signatures without it are skipped.
    var prefix = ""
    /// The places of the signatures in the header.
    var layout = Layout.single
    /// The signed bytes.
    var content = SignedContent.body
    /// The header with the timestamp, in lower case; nil if there is none.
    var timestampHeader: String?
    /// The greatest difference between timestamp and arrival.
    var toleranceSeconds = SenderLimits.toleranceSeconds
    /// The header that identifies the delivery, in lower case; nil if there is none.
    var idHeader: String?

    /// Checks the signature, then the timestamp if the sender has one.
    func verify(_ request: SourceRequest, with secrets: [SourceSecret]) throws(SourceError) {
        guard let field = try request.proof(header) else { throw .missingProof(header) }
        var (signatures, timestamp) = try read(field)
        if let timestampHeader {
            guard let text = try request.proof(timestampHeader) else { throw .missingProof(timestampHeader) }
            timestamp = text
        }
        let parts = try parts(of: request, timestamp: timestamp)
        let isValid = secrets.contains { secret in
            let code = algorithm.code(over: parts, key: Array(secret.text.utf8))
            return signatures.contains { ConstantTime.equal($0, code) }
        }
        guard isValid else { throw .invalidSignature(header) }
        if let timestamp { try check(timestamp, against: request.receivedAt) }
    }

    // MARK: The header

    private func read(_ field: String) throws(SourceError) -> (signatures: [[UInt8]], timestamp: String?) {
        switch layout {
        case .single:
            return (signature(in: Substring(field)).map { [$0] } ?? [], nil)
        case .list(let separator):
            let entries = field.utf8.split(separator: separator, maxSplits: SenderLimits.maximumSignatures)
            let texts = entries.prefix(SenderLimits.maximumSignatures).map { Self.trimmed(Substring($0)) }
            return (texts.compactMap(signature), nil)
        case .fields(let timestampName, let signatureName):
            var signatures: [[UInt8]] = []
            var timestamp: String?
            for entry in field.split(separator: ",", maxSplits: 2 * SenderLimits.maximumSignatures) {
                guard let equals = entry.firstIndex(of: "=") else { continue }
                let (name, value) = (Self.trimmed(entry[..<equals]), entry[entry.index(after: equals)...])
                if name == timestampName {
                    // Of two timestamps only one could be signed.
                    guard timestamp == nil else { throw .invalidSignature(header) }
                    timestamp = String(value)
                } else if name == signatureName, signatures.count < SenderLimits.maximumSignatures {
                    signature(in: value).map { signatures.append($0) }
                }
            }
            guard timestamp != nil else { throw .invalidSignature(header) }
            return (signatures, timestamp)
        }
    }

    private func signature(in text: Substring) -> [UInt8]? {
        guard text.utf8.starts(with: prefix.utf8) else { return nil }
        return encoding.decode(Substring(text.utf8.dropFirst(prefix.utf8.count)))
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return text
    }

    // MARK: The signed bytes

    private func parts(of request: SourceRequest, timestamp: String?) throws(SourceError) -> [[UInt8]] {
        var parts: [[UInt8]] = []
        for (place, part) in content.parts.enumerated() {
            switch part {
            case .literal(let text): parts.append(Array(text.utf8))
            case .body: parts.append(request.body)
            case .timestamp: parts.append(Array((timestamp ?? "").utf8))
            case .id: parts.append(try value(of: idHeader, in: request, before: place))
            case .header(let name): parts.append(try value(of: name, in: request, before: place))
            }
        }
        return parts
    }

    /// The value of a signed header. The literal that follows must not begin within it, or the signature of one request
    /// would be that of another split of the same bytes as well.
    private func value(of name: String?, in request: SourceRequest, before place: Int) throws(SourceError) -> [UInt8] {
        guard let name, let text = try request.proof(name) else { throw .missingProof(name ?? header) }
        let value = Array(text.utf8)
        if place + 1 < content.parts.count, case .literal(let text) = content.parts[place + 1] {
            let literal = Array(text.utf8)
            guard (value + literal).firstRange(of: literal)?.lowerBound == value.count else {
                throw .invalidSignature(header)
            }
        }
        return value
    }

    // MARK: The timestamp

    /// Decimal digits only; a sign would be another spelling of the same time.
    private func check(_ text: String, against now: Timestamp) throws(SourceError) {
        let tolerance = toleranceSeconds * 1000
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            throw .invalidTimestamp
        }
        guard let seconds = Int64(text),
            case let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000), !overflow,
            case let signed = Timestamp(milliseconds: milliseconds),
            signed >= now.advanced(byMilliseconds: -tolerance), signed <= now.advanced(byMilliseconds: tolerance)
        else { throw .outsideWindow(toleranceSeconds: toleranceSeconds) }
    }
}
