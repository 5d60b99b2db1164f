package import RouterPlugin

/// An issuer whose tokens unlock in place of the passcode: a provider of OpenID Connect, or the application's own back end.
package struct ProofIssuer: Hashable, Sendable {
    /// The `iss` of its tokens.
    package var name: String
    /// The `aud` that its tokens have for this application.
    package var audience: String
    /// The keys that it signs with, each with an ID of its own.
    package var keys: [ProofKey]
    /// Whether its tokens unlock whomever they are about. Otherwise their `sub` is the person who was onboarded.
    package var takesAnySubject: Bool

    package init(name: String, audience: String, keys: [ProofKey], takesAnySubject: Bool = false) {
        self.name = name
        self.audience = audience
        self.keys = keys
        self.takesAnySubject = takesAnySubject
    }
}

/// A public key of an issuer. Its kind decides the algorithm of signatures.
package struct ProofKey: Hashable, Sendable {
    package enum Material: Hashable, Sendable {
        /// For RS256: numbers in big-endian order, without zeros in front.
        case rsa(modulus: [UInt8], exponent: [UInt8])
        /// For ES256: the coordinates of a point on the curve P-256, 32 bytes each.
        case p256(x: [UInt8], y: [UInt8])
    }

    /// The `kid` of the tokens that it signs.
    package let id: String
    package let material: Material

    package init(id: String, _ material: Material) {
        self.id = id
        self.material = material
    }

    /// The `alg` of the tokens that it signs.
    package var algorithm: String {
        switch material {
        case .rsa: "RS256"
        case .p256: "ES256"
        }
    }
}

// MARK: JSON Web Keys (RFC 7517)

extension ProofKey {
    /// The reason why a JSON Web Key is not taken, as the end of a sentence that begins with the key.
    package struct Fault: Error, Hashable, Sendable {
        package let reason: String
    }

    /// Reads the members that matter; others are passed over, as RFC 7517 has it.
    package init(jwk: JSONValue) throws(Fault) {
        guard jwk.asObject != nil else { throw Fault(reason: "must be an object") }
        for member in ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] where jwk[member] != nil {
            throw Fault(reason: "has the member \(member) of a private or secret key; give the public key alone")
        }
        guard let id = jwk["kid"]?.asString, (1...RouterLimits.proofTextBytes).contains(id.utf8.count) else {
            throw Fault(reason: "must have a kid of 1 to \(RouterLimits.proofTextBytes) bytes")
        }
        if let use = jwk["use"], use != "sig" { throw Fault(reason: "must have the use sig, or none") }
        func number(_ name: String) throws(Fault) -> [UInt8] {
            guard let text = jwk[name]?.asString, let bytes = Base64URL.decode(text.utf8) else {
                throw Fault(reason: "must have the member \(name) in base64url")
            }
            return bytes
        }
        if jwk["kty"] == "RSA" {
            let modulus = try number("n").drop { $0 == 0 }
            let exponent = try number("e").drop { $0 == 0 }
            guard RouterLimits.proofModulusBytes.contains(modulus.count) else {
                throw Fault(reason: "must have from 2048 to 4096 bits")
            }
            guard exponent.count <= 4, let last = exponent.last, last % 2 == 1, !exponent.elementsEqual([1]) else {
                throw Fault(reason: "must have an odd exponent of up to 32 bits, greater than 1")
            }
            self.init(id: id, .rsa(modulus: Array(modulus), exponent: Array(exponent)))
        } else if jwk["kty"] == "EC", jwk["crv"] == "P-256" {
            let (x, y) = (try number("x"), try number("y"))
            guard x.count == 32, y.count == 32 else { throw Fault(reason: "must have coordinates of 32 bytes each") }
            self.init(id: id, .p256(x: x, y: y))
        } else {
            throw Fault(reason: "must have the kty RSA, or EC with the crv P-256")
        }
        if let named = jwk["alg"], named != .string(algorithm) {
            throw Fault(reason: "must have the alg \(algorithm), or none")
        }
    }

    package var jwk: JSONObject {
        var object = JSONObject()
        object["kid"] = .string(id)
        object["alg"] = .string(algorithm)
        switch material {
        case .rsa(let modulus, let exponent):
            object["kty"] = "RSA"
            object["n"] = .string(Base64URL.encode(modulus))
            object["e"] = .string(Base64URL.encode(exponent))
        case .p256(let x, let y):
            object["kty"] = "EC"
            object["crv"] = "P-256"
            object["x"] = .string(Base64URL.encode(x))
            object["y"] = .string(Base64URL.encode(y))
        }
        return object
    }
}

extension ProofIssuer {
    /// The issuer in the words of the API.
    package var json: JSONObject {
        var (object, set) = (JSONObject(), JSONObject())
        set["keys"] = .array(keys.map { .object($0.jwk) })
        object["issuer"] = .string(name)
        object["audience"] = .string(audience)
        object["jwks"] = .object(set)
        object["anySubject"] = .bool(takesAnySubject)
        return object
    }
}
