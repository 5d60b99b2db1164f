import Router
import RouterPlugin

/// A policy of passcodes in one column, with what stands in for a passcode: a JSON object in the words of the API.
enum PolicyText {
    static func encode(_ policy: PasscodePolicy, of gates: GateSettings) -> String {
        let object = JSONWriter.object { object in
            policy.write(to: &object)
            if !gates.issuers.isEmpty {
                object.field("issuers", JSONValue.array(gates.issuers.map { .object($0.json) }))
            }
            if let party = gates.relyingParty { object.field("webAuthn", JSONValue.object(party.json)) }
        }
        return String(decoding: object, as: UTF8.self)
    }

    /// Reads what `encode` has written, and nothing else.
    static func decode(_ text: String, into gates: inout GateSettings) throws(StoreError) {
        guard let value = try? JSONValue(parsing: Array(text.utf8)) else { throw damaged }
        func number(_ name: String) throws(StoreError) -> Int {
            guard let number = value[name]?.asInt64 else { throw damaged }
            return Int(number)
        }
        func flag(_ name: String) throws(StoreError) -> Bool {
            guard let flag = value[name]?.asBool else { throw damaged }
            return flag
        }
        gates.passcode = PasscodePolicy(
            minLength: try number("minLength"), hasDigit: try flag("hasDigit"), hasUpper: try flag("hasUpper"),
            hasLower: try flag("hasLower"), hasSpecial: try flag("hasSpecial"), isDigitsOnly: try flag("isDigitsOnly"),
            minUniqueChars: try number("minUniqueChars"), retryLimit: try number("retryLimit"),
            allowsBiometrics: try flag("allowsBiometrics"), noPasscodeRequired: try flag("noPasscodeRequired"),
            lockTimeoutSeconds: try number("lockTimeoutSeconds"), expirationDays: try number("expirationDays"))
        for element in value["issuers"]?.asArray ?? [] { gates.issuers.append(try issuer(element)) }
        gates.relyingParty = try value["webAuthn"].map(relyingParty)
    }

    private static func relyingParty(_ value: JSONValue) throws(StoreError) -> RelyingParty {
        guard let id = value["rpId"]?.asString, let origins = value["origins"]?.asArray else { throw damaged }
        return RelyingParty(id: id, origins: origins.compactMap(\.asString))
    }

    private static func issuer(_ value: JSONValue) throws(StoreError) -> ProofIssuer {
        guard let name = value["issuer"]?.asString, let audience = value["audience"]?.asString,
            let isAny = value["anySubject"]?.asBool
        else { throw damaged }
        var keys: [ProofKey] = []
        for jwk in value["jwks"]?["keys"]?.asArray ?? [] {
            do throws(ProofKey.Fault) { keys.append(try ProofKey(jwk: jwk)) } catch { throw damaged }
        }
        return ProofIssuer(name: name, audience: audience, keys: keys, takesAnySubject: isAny)
    }

    private static var damaged: StoreError { StoreError(.corrupt, "a policy of passcodes cannot be read") }
}
