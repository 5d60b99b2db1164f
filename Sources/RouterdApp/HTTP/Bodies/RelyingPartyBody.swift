import HTTPTypes
import Plugins
import Router
import RouterPlugin

/// The relying party of Web Authentication on the wire.
enum RelyingPartyBody {
    /// The member `webAuthn` of a policy of passcodes.
    static func read(_ policy: inout ObjectReader) throws(Problem) -> RelyingParty? {
        guard var reader = try policy.object("webAuthn") else { return nil }
        guard let id = try reader.string("rpId") else { throw reader.missing("rpId") }
        guard isDomain(id) else {
            throw reader.invalid("rpId", "must be a domain in lower case, such as till.example")
        }
        guard let origins = try reader.strings("origins", atMost: RouterLimits.relyingPartyOrigins) else {
            throw reader.missing("origins")
        }
        guard !origins.isEmpty else { throw reader.invalid("origins", "must have an origin") }
        for (place, origin) in origins.enumerated() where !isOrigin(origin, within: id) {
            throw Problem(
                .unprocessableContent, "invalid-field",
                "An origin must be https and a host within the rpId, and perhaps a port, such as https://\(id); "
                    + "http is for localhost alone.",
                pointer: "\(reader.pointer(to: "origins"))/\(place)")
        }
        try reader.finish()
        return RelyingParty(id: id, origins: origins)
    }

    static func write(_ party: RelyingParty?, to policy: inout JSONObjectWriter) {
        guard let party else { return }
        policy.field("webAuthn", JSONValue.object(party.json))
    }

    /// Labels of letters, digits and hyphens in lower case: the form in which browsers hash a domain.
    private static func isDomain(_ text: String) -> Bool {
        guard (1...253).contains(text.utf8.count) else { return false }
        return text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { label in
            (1...63).contains(label.count) && label.first != UInt8(ascii: "-") && label.last != UInt8(ascii: "-")
                && label.allSatisfy { byte in
                    (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "-")
                }
        }
    }

    /// Browsers let a page use the RP ID of its host, or of a domain above it.
    private static func isOrigin(_ text: String, within id: String) -> Bool {
        let rest: Substring
        if text.hasPrefix("https://") {
            rest = text.dropFirst("https://".count)
        } else if text.hasPrefix("http://localhost"), id.isSame(as: "localhost") {
            rest = text.dropFirst("http://".count)
        } else {
            return false
        }
        let parts = rest.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let host = parts[0]
        if parts.count == 2 {
            guard let port = UInt16(parts[1]), "\(port)".isSame(as: parts[1]), port > 0 else { return false }
        }
        return isDomain(host) && (host.isSame(as: id) || host.hasSuffix(".\(id)"))
    }
}

extension Problem {
    static let assertionsNotAllowed = Problem(
        .forbidden, "assertions-not-allowed", "The application names no relying party of Web Authentication.",
        pointer: "/assertion")

    static func invalidAssertion(_ fault: WebAuthnAssertion.Fault) -> Problem {
        let detail =
            switch fault {
            case .type: "The type of the client data must be webauthn.get."
            case .challenge: "The client data must have the bytes of the challenge, in base64url."
            case .origin: "The origin of the page must be one of the application's relying party."
            case .crossOrigin: "The page must not be in a frame of another origin."
            case .rpID: "The assertion must be for the rpId of the application's relying party."
            case .userPresent: "The authenticator must have tested that a person is present."
            case .userVerified: "The authenticator must have verified the person: ask for it with userVerification."
            case .signature: "The assertion was not signed by the key of the device."
            }
        var problem = Problem(.forbidden, "invalid-assertion", detail, pointer: "/assertion")
        problem.rule = fault.rawValue
        return problem
    }
}

extension WebAuthnAssertion {
    /// The problem of an assertion that does not answer the challenge; nil if it does.
    func problem(_ challenge: String, of party: RelyingParty, with key: DeviceKey) -> Problem? {
        do { try verify(Array(challenge.utf8), of: party, with: key) } catch { return .invalidAssertion(error) }
        return nil
    }
}
