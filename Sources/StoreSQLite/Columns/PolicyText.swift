import Router
import RouterPlugin

/// A policy of passcodes in one column, with the issuers of proofs: a JSON object in the words of the API.
enum PolicyText {
    static func encode(_ policy: PasscodePolicy, _ issuers: [ProofIssuer]) -> String {
        let object = JSONWriter.object { object in
            policy.write(to: &object)
            guard !issuers.isEmpty else { return }
            object.field("issuers", JSONValue.array(issuers.map { .object($0.json) }))
        }
        return String(decoding: object, as: UTF8.self)
    }

    /// Reads what `encode` has written, and nothing else.
    static func decode(_ text: String) throws(StoreError) -> (policy: PasscodePolicy, issuers: [ProofIssuer]) {
        guard let value = try? JSONValue(parsing: Array(text.utf8)) else { throw damaged }
        func number(_ name: String) throws(StoreError) -> Int {
            guard let number = value[name]?.asInt64 else { throw damaged }
            return Int(number)
        }
        func flag(_ name: String) throws(StoreError) -> Bool {
            guard let flag = value[name]?.asBool else { throw damaged }
            return flag
        }
        let policy = PasscodePolicy(
            minLength: try number("minLength"), hasDigit: try flag("hasDigit"), hasUpper: try flag("hasUpper"),
            hasLower: try flag("hasLower"), hasSpecial: try flag("hasSpecial"), isDigitsOnly: try flag("isDigitsOnly"),
            minUniqueChars: try number("minUniqueChars"), retryLimit: try number("retryLimit"),
            allowsBiometrics: try flag("allowsBiometrics"), noPasscodeRequired: try flag("noPasscodeRequired"),
            lockTimeoutSeconds: try number("lockTimeoutSeconds"), expirationDays: try number("expirationDays"))
        var issuers: [ProofIssuer] = []
        for element in value["issuers"]?.asArray ?? [] { issuers.append(try issuer(element)) }
        return (policy, issuers)
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
