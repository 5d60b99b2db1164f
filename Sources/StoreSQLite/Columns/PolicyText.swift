import Router
import RouterPlugin

/// A policy of passcodes in one column: a JSON object in the words of the API.
enum PolicyText {
    static func encode(_ policy: PasscodePolicy) -> String {
        String(decoding: JSONWriter.object { policy.write(to: &$0) }, as: UTF8.self)
    }

    /// Reads what `encode` has written, and nothing else.
    static func decode(_ text: String) throws(StoreError) -> PasscodePolicy {
        guard let value = try? JSONValue(parsing: Array(text.utf8)) else { throw damaged }
        func number(_ name: String) throws(StoreError) -> Int {
            guard let number = value[name]?.asInt64 else { throw damaged }
            return Int(number)
        }
        func flag(_ name: String) throws(StoreError) -> Bool {
            guard let flag = value[name]?.asBool else { throw damaged }
            return flag
        }
        return PasscodePolicy(
            minLength: try number("minLength"), hasDigit: try flag("hasDigit"), hasUpper: try flag("hasUpper"),
            hasLower: try flag("hasLower"), hasSpecial: try flag("hasSpecial"), isDigitsOnly: try flag("isDigitsOnly"),
            minUniqueChars: try number("minUniqueChars"), retryLimit: try number("retryLimit"),
            allowsBiometrics: try flag("allowsBiometrics"), noPasscodeRequired: try flag("noPasscodeRequired"),
            lockTimeoutSeconds: try number("lockTimeoutSeconds"), expirationDays: try number("expirationDays"))
    }

    private static var damaged: StoreError { StoreError(.corrupt, "a policy of passcodes cannot be read") }
}
