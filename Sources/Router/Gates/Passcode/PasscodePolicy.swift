package import RouterPlugin

/// An application's requirements for passcodes: the SAP SDK's `FUIPasscodePolicy`, and its server's lock settings.
package struct PasscodePolicy: Hashable, Sendable {
    /// The value for no limit, and for never.
    package static let noLimit = -1

    /// The minimum length in characters as a person counts them.
    package var minLength: Int
    package var hasDigit: Bool
    package var hasUpper: Bool
    package var hasLower: Bool
    /// Whether a passcode must contain a scalar that is neither a letter nor a mark nor a number.
    package var hasSpecial: Bool
    /// Whether a passcode may contain digits only; if so, the other requirements for characters do not apply.
    package var isDigitsOnly: Bool
    /// The minimum number of distinct Unicode scalars; `noLimit` and 0 require none.
    package var minUniqueChars: Int
    /// The number of consecutive wrong tries after which the application is reset.
    package var retryLimit: Int
    /// Whether a key of the device may replace the passcode: the SDK's `allowsTouchID`.
    package var allowsBiometrics: Bool
    /// Whether a person may continue without a passcode.
    package var noPasscodeRequired: Bool
    /// The time from when the last scene leaves the foreground until the application locks: 0 at once, `noLimit` never.
    package var lockTimeoutSeconds: Int
    /// The number of days after which a passcode must be changed; 0 if it never expires.
    package var expirationDays: Int

    package init(
        minLength: Int = 8, hasDigit: Bool = false, hasUpper: Bool = false, hasLower: Bool = false,
        hasSpecial: Bool = false, isDigitsOnly: Bool = false, minUniqueChars: Int = noLimit, retryLimit: Int = noLimit,
        allowsBiometrics: Bool = true, noPasscodeRequired: Bool = false, lockTimeoutSeconds: Int = 300,
        expirationDays: Int = 0
    ) {
        self.minLength = minLength
        self.hasDigit = hasDigit
        self.hasUpper = hasUpper
        self.hasLower = hasLower
        self.hasSpecial = hasSpecial
        self.isDigitsOnly = isDigitsOnly
        self.minUniqueChars = minUniqueChars
        self.retryLimit = retryLimit
        self.allowsBiometrics = allowsBiometrics
        self.noPasscodeRequired = noPasscodeRequired
        self.lockTimeoutSeconds = lockTimeoutSeconds
        self.expirationDays = expirationDays
    }
}

extension PasscodePolicy {
    /// Writes all fields under their names in the API.
    package func write(to object: inout JSONObjectWriter) {
        object.field("minLength", minLength)
        object.field("hasDigit", hasDigit)
        object.field("hasUpper", hasUpper)
        object.field("hasLower", hasLower)
        object.field("hasSpecial", hasSpecial)
        object.field("isDigitsOnly", isDigitsOnly)
        object.field("minUniqueChars", minUniqueChars)
        object.field("retryLimit", retryLimit)
        object.field("allowsBiometrics", allowsBiometrics)
        object.field("noPasscodeRequired", noPasscodeRequired)
        object.field("lockTimeoutSeconds", lockTimeoutSeconds)
        object.field("expirationDays", expirationDays)
    }
}

/// A rule that a new passcode violates.
package enum PasscodeFault: Error, Hashable, Sendable {
    case tooShort(minimum: Int)
    case refused(by: PluginID, PasscodeObjection)
    case notDigitsOnly
    case noDigit
    case noUpper
    case noLower
    case noSpecial
    case tooFewUnique(minimum: Int)

    /// The name of the rule: a field of the policy, or the ID of a validator.
    package var rule: String {
        switch self {
        case .tooShort: "minLength"
        case .refused(let validator, _): validator.text
        case .notDigitsOnly: "isDigitsOnly"
        case .noDigit: "hasDigit"
        case .noUpper: "hasUpper"
        case .noLower: "hasLower"
        case .noSpecial: "hasSpecial"
        case .tooFewUnique: "minUniqueChars"
        }
    }
}

extension PasscodePolicy {
    /// Checks a chosen passcode.
    ///
    /// - Throws: The first fault.
    package func check(
        _ passcode: Passcode, for application: ApplicationID, validators: [any PasscodeValidator]
    ) throws(PasscodeFault) {
        if let fault = faults(of: passcode, for: application, validators: validators).first { throw fault }
    }

    /// All faults of a passcode, in the order of the SDK: its length, its characters and the number of distinct ones, and then
    /// the objections of validators.
    package func faults(
        of passcode: Passcode, for application: ApplicationID, validators: [any PasscodeValidator]
    ) -> [PasscodeFault] {
        let text = passcode.revealed()
        let scalars = text.unicodeScalars
        var faults: [PasscodeFault] = []
        if text.count < minLength { faults.append(.tooShort(minimum: minLength)) }
        if isDigitsOnly {
            if !scalars.allSatisfy(\.isDigit) { faults.append(.notDigitsOnly) }
        } else {
            if hasDigit, !scalars.contains(where: \.isDigit) { faults.append(.noDigit) }
            if hasUpper, !scalars.contains(where: \.isUpper) { faults.append(.noUpper) }
            if hasLower, !scalars.contains(where: \.isLower) { faults.append(.noLower) }
            if hasSpecial, !scalars.contains(where: \.isSpecial) { faults.append(.noSpecial) }
        }
        if minUniqueChars > 0, Set(scalars).count < minUniqueChars {
            faults.append(.tooFewUnique(minimum: minUniqueChars))
        }
        for validator in validators {
            guard let objection = validator.objection(to: passcode, for: application) else { continue }
            faults.append(.refused(by: validator.id, objection))
        }
        return faults
    }
}

// Equivalents of Foundation's character sets, defined by the general categories that those consist of.
extension Unicode.Scalar {
    /// Category Nd.
    fileprivate var isDigit: Bool { properties.generalCategory == .decimalNumber }
    /// Categories Lu and Lt.
    fileprivate var isUpper: Bool { [.uppercaseLetter, .titlecaseLetter].contains(properties.generalCategory) }
    /// Category Ll.
    fileprivate var isLower: Bool { properties.generalCategory == .lowercaseLetter }

    /// Any category outside L, M and N.
    fileprivate var isSpecial: Bool {
        switch properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
            .spacingMark, .enclosingMark, .decimalNumber, .letterNumber, .otherNumber:
            false
        default: true
        }
    }
}
