import Foundation
import HTTPTypes
package import Router
package import RouterPlugin

/// Requests about passcodes on the wire.
///
/// The typed text is not kept beyond the request, and never occurs in an answer.
package struct PasscodeBody {
    /// The session that speaks, and the gate's term that it knows.
    package let speaker: PasscodeRequest.Speaker
    private var reader: ObjectReader

    package init(
        _ bytes: [UInt8], for purpose: PasscodeRequest.Purpose, in application: ApplicationID, by caller: Caller
    ) throws(Problem) {
        reader = try Self.reader(bytes)
        let session = try GateBody.session(&reader, of: application, for: caller)
        speaker = PasscodeRequest.Speaker(session, term: try GateBody.term(&reader), for: purpose)
    }

    /// A passcode candidate to check; the request names no session.
    package static func candidate(_ bytes: [UInt8]) throws(Problem) -> Passcode {
        var reader = try reader(bytes)
        let passcode = try passcode("passcode", from: &reader)
        do { try reader.finish() } catch { throw error.withoutNames }
        return passcode
    }

    private static func reader(_ bytes: [UInt8]) throws(Problem) -> ObjectReader {
        let value: JSONValue
        do { value = try JSONValue(parsing: bytes) } catch { throw Problem(error).withoutNames }
        return try ObjectReader(value)
    }

    package mutating func passcode(_ key: String) throws(Problem) -> Passcode {
        try Self.passcode(key, from: &reader)
    }

    /// A passcode, in Unicode's form C: the same typed text is equal, whatever keyboard it was typed on.
    private static func passcode(_ key: String, from reader: inout ObjectReader) throws(Problem) -> Passcode {
        guard let text = try reader.string(key) else { throw reader.missing(key) }
        do { return try Passcode(text.precomposedStringWithCanonicalMapping) } catch {
            throw Problem(.unprocessableContent, error.code, error.description, pointer: reader.pointer(to: key))
        }
    }

    /// The public key of the device, if one is to stand in for the passcode.
    package mutating func deviceKey() throws(Problem) -> DeviceKey? {
        guard let text = try reader.string("deviceKey") else { return nil }
        guard let key = DeviceKeyReader.key(text) else {
            throw Problem(
                .unprocessableContent, "invalid-device-key",
                "The key must be a public one of the curve P-256, in base64: X9.63 or SubjectPublicKeyInfo.",
                pointer: reader.pointer(to: "deviceKey"))
        }
        return key
    }

    /// The public key of the device, or null for none.
    package mutating func nullableDeviceKey() throws(Problem) -> DeviceKey? {
        if case .absent = reader.presence("deviceKey") { throw reader.missing("deviceKey") }
        return try deviceKey()
    }

    /// The answer to a challenge: a signature, or an assertion in its place.
    package enum DeviceAnswer: Sendable {
        /// In base64.
        case signature(String)
        case assertion(WebAuthnAssertion)
    }

    package mutating func deviceAnswer() throws(Problem) -> DeviceAnswer {
        guard var assertion = try reader.object("assertion") else { return .signature(try text("signature")) }
        if case .absent = reader.presence("signature") {
        } else {
            throw reader.invalid("signature", "must not stand beside an assertion")
        }
        let (data, authenticator) = (
            try bytes("clientDataJSON", &assertion), try bytes("authenticatorData", &assertion)
        )
        let signature = try bytes("signature", &assertion)
        // The person whom the authenticator knows; the gate knows its own.
        _ = try assertion.string("userHandle")
        try assertion.finish()
        guard
            let read = WebAuthnAssertion(clientData: data, authenticatorData: authenticator, signature: signature)
        else {
            throw Problem(
                .unprocessableContent, "unreadable-assertion",
                "The assertion must have client data in JSON, and at least 37 bytes of the authenticator.",
                pointer: reader.pointer(to: "assertion"))
        }
        return .assertion(read)
    }

    private func bytes(_ key: String, _ assertion: inout ObjectReader) throws(Problem) -> [UInt8] {
        guard let text = try assertion.string(key) else { throw assertion.missing(key) }
        guard let bytes = Base64URL.decode(text.utf8) else { throw assertion.invalid(key, "must be base64url") }
        return bytes
    }

    package mutating func text(_ key: String) throws(Problem) -> String {
        guard let text = try reader.string(key) else { throw reader.missing(key) }
        return text
    }

    package mutating func flag(_ key: String) throws(Problem) -> Bool { try reader.bool(key) ?? false }

    /// Call last: refuses members that were not read.
    package func finish() throws(Problem) {
        do { try reader.finish() } catch { throw error.withoutNames }
    }
}

extension Problem {
    /// The problem without its pointer: the name of a field is the client's text, and may be the passcode meant as its
    /// value.
    fileprivate var withoutNames: Problem {
        var problem = self
        problem.pointer = nil
        return problem
    }
}

extension ObjectReader {
    /// A policy of passcodes; members left out have the values of the SAP SDK.
    package mutating func passcodePolicy() throws(Problem) -> PasscodePolicy {
        let standard = PasscodePolicy()
        let length = Int64(RouterLimits.passcodeLength)
        var policy = standard
        policy.minLength = try integer("minLength", in: 1...length) ?? standard.minLength
        policy.hasDigit = try bool("hasDigit") ?? standard.hasDigit
        policy.hasUpper = try bool("hasUpper") ?? standard.hasUpper
        policy.hasLower = try bool("hasLower") ?? standard.hasLower
        policy.hasSpecial = try bool("hasSpecial") ?? standard.hasSpecial
        policy.isDigitsOnly = try bool("isDigitsOnly") ?? standard.isDigitsOnly
        policy.minUniqueChars = try integer("minUniqueChars", in: -1...length) ?? standard.minUniqueChars
        policy.retryLimit = try integer("retryLimit", in: -1...RouterLimits.passcodeRetries) ?? standard.retryLimit
        guard policy.retryLimit != 0 else { throw invalid("retryLimit", "must be at least 1, or -1 for no limit") }
        policy.allowsBiometrics = try bool("allowsBiometrics") ?? standard.allowsBiometrics
        policy.noPasscodeRequired = try bool("noPasscodeRequired") ?? standard.noPasscodeRequired
        policy.lockTimeoutSeconds =
            try integer("lockTimeoutSeconds", in: -1...RouterLimits.passcodeLockSeconds) ?? standard.lockTimeoutSeconds
        policy.expirationDays =
            try integer("expirationDays", in: 0...RouterLimits.passcodeDays) ?? standard.expirationDays
        return policy
    }
}
