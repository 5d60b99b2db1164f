package import RouterPlugin

/// What an application asks of passcodes: the SAP SDK's `FUIPasscodePolicy`, and what its server says of locking.
package struct PasscodePolicy: Hashable, Sendable {
    /// Stands for no limit, and for never.
    package static let noLimit = -1

    /// In characters, as a person counts them.
    package var minLength: Int
    package var hasDigit: Bool
    package var hasUpper: Bool
    package var hasLower: Bool
    /// Whether something must be in it that is neither a letter nor a mark nor a number.
    package var hasSpecial: Bool
    /// Whether nothing but digits may be in it; what is asked of letters does not count then.
    package var isDigitsOnly: Bool
    /// How many Unicode scalars must differ; neither `noLimit` nor 0 asks for any.
    package var minUniqueChars: Int
    /// How many wrong tries in a row there may be until the application is reset.
    package var retryLimit: Int
    /// Whether a key of the device may stand in for the passcode: the SDK's `allowsTouchID`.
    package var allowsBiometrics: Bool
    /// Whether one may go on without a passcode.
    package var noPasscodeRequired: Bool
    /// How long after its last scene has left the foreground the application is locked: 0 at once, `noLimit` never.
    package var lockTimeoutSeconds: Int
    /// For how many days a passcode may be used until it has to be changed; 0 for ever.
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
    /// All fields in the words of the API.
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

/// What a new passcode does not meet.
package enum PasscodeFault: Error, Hashable, Sendable {
    case tooShort(minimum: Int)
    case refused(by: PluginID, PasscodeObjection)
    case notDigitsOnly
    case noDigit
    case noUpper
    case noLower
    case noSpecial
    case tooFewUnique(minimum: Int)

    /// The rule that it does not meet: a field of the policy, or the name of a validator.
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
    /// Checks a passcode that somebody has chosen.
    ///
    /// - Throws: the first fault.
    package func check(
        _ passcode: Passcode, for application: ApplicationID, validators: [any PasscodeValidator]
    ) throws(PasscodeFault) {
        if let fault = faults(of: passcode, for: application, validators: validators).first { throw fault }
    }

    /// Everything that a passcode does not meet, in the order of the SDK: its length, then what validators have against it,
    /// then its characters, and how many of them differ at last.
    package func faults(
        of passcode: Passcode, for application: ApplicationID, validators: [any PasscodeValidator]
    ) -> [PasscodeFault] {
        let text = passcode.revealed()
        let scalars = text.unicodeScalars
        var faults: [PasscodeFault] = []
        if text.count < minLength { faults.append(.tooShort(minimum: minLength)) }
        for validator in validators {
            guard let objection = validator.objection(to: passcode, for: application) else { continue }
            faults.append(.refused(by: validator.id, objection))
        }
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
        return faults
    }
}

// Foundation's sets of the same names, by the general categories that they are made of.
extension Unicode.Scalar {
    /// Nd.
    fileprivate var isDigit: Bool { properties.generalCategory == .decimalNumber }
    /// Lu and Lt.
    fileprivate var isUpper: Bool { [.uppercaseLetter, .titlecaseLetter].contains(properties.generalCategory) }
    /// Ll.
    fileprivate var isLower: Bool { properties.generalCategory == .lowercaseLetter }

    /// Not in L, M or N.
    fileprivate var isSpecial: Bool {
        switch properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
            .spacingMark, .enclosingMark, .decimalNumber, .letterNumber, .otherNumber:
            false
        default: true
        }
    }
}
