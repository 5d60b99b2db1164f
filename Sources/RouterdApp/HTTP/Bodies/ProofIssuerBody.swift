import HTTPTypes
import Plugins
import Router
import RouterPlugin

/// The issuers of outside proofs on the wire.
enum ProofIssuerBody {
    /// The member `issuers` of a policy of passcodes.
    static func read(_ policy: inout ObjectReader) throws(Problem) -> [ProofIssuer] {
        let elements = try policy.array("issuers", atMost: RouterLimits.proofIssuers) ?? []
        var issuers: [ProofIssuer] = []
        for (place, element) in elements.enumerated() {
            var reader = try ObjectReader(element, at: "\(policy.pointer(to: "issuers"))/\(place)")
            let issuer = ProofIssuer(
                name: try text("issuer", &reader), audience: try text("audience", &reader),
                keys: try keys(&reader), takesAnySubject: try reader.bool("anySubject") ?? false)
            try reader.finish()
            let isTwice = issuers.contains {
                $0.name.isSame(as: issuer.name) && $0.audience.isSame(as: issuer.audience)
            }
            guard !isTwice else { throw reader.invalid("issuer", "has that audience in another element already") }
            issuers.append(issuer)
        }
        return issuers
    }

    private static func text(_ key: String, _ reader: inout ObjectReader) throws(Problem) -> String {
        guard let text = try reader.string(key) else { throw reader.missing(key) }
        guard (1...RouterLimits.proofTextBytes).contains(text.utf8.count) else {
            throw reader.invalid(key, "must have 1 to \(RouterLimits.proofTextBytes) bytes")
        }
        return text
    }

    /// A JSON Web Key Set (RFC 7517). Members that are not known are passed over, as the sets of providers have more.
    private static func keys(_ issuer: inout ObjectReader) throws(Problem) -> [ProofKey] {
        guard var set = try issuer.object("jwks") else { throw issuer.missing("jwks") }
        guard let elements = try set.array("keys", atMost: RouterLimits.proofKeys) else { throw set.missing("keys") }
        guard !elements.isEmpty else { throw set.invalid("keys", "must have a key") }
        var keys: [ProofKey] = []
        for (place, element) in elements.enumerated() {
            func refusal(_ reason: String) -> Problem {
                Problem(
                    .unprocessableContent, "invalid-field", "The key \(reason).",
                    pointer: "\(set.pointer(to: "keys"))/\(place)")
            }
            let key: ProofKey
            do { key = try ProofKey(jwk: element) } catch { throw refusal(error.reason) }
            guard key.isSound else { throw refusal("has numbers that no public key has") }
            guard !keys.contains(where: { $0.id.isSame(as: key.id) }) else {
                throw refusal("has the kid of another key of the set")
            }
            keys.append(key)
        }
        return keys
    }

    static func write(_ issuers: [ProofIssuer], to policy: inout JSONObjectWriter) {
        guard !issuers.isEmpty else { return }
        policy.field("issuers", JSONValue.array(issuers.map { .object($0.json) }))
    }

    /// The issuers as sessions see them, without keys.
    static func writeNames(_ issuers: [ProofIssuer], to status: inout JSONObjectWriter) {
        guard !issuers.isEmpty else { return }
        status.array("issuers") { list in
            for issuer in issuers {
                list.object {
                    $0.field("issuer", issuer.name)
                    $0.field("audience", issuer.audience)
                }
            }
        }
    }
}

extension Problem {
    static func invalidProof(_ fault: ProofFault) -> Problem {
        let detail =
            switch fault {
            case .unreadable:
                "The token is not read: it must be a JWT in compact form of up to \(RouterLimits.proofTokenBytes) bytes."
            case .algorithm: "The alg of the token must be that of its key: RS256 or ES256."
            case .key: "No key of the issuer has the kid of the token."
            case .issuer: "The application trusts no issuer with the iss of the token."
            case .audience: "The aud of the token must be that of the application at its issuer."
            case .expired: "The token must have an exp that is not over."
            case .notYetValid: "The nbf of the token must be over."
            case .issuedLater: "The token must have an iat that is over; check the clocks."
            case .subject: "The sub of the token must be the person who was onboarded: the onboardingId of the gate."
            case .nonce: "The token must have the challenge as its nonce."
            case .signature: "The token was not signed by the key that it names."
            }
        var problem = Problem(.forbidden, "invalid-proof", detail, pointer: "/token")
        problem.rule = fault.rawValue
        return problem
    }
}
