/// A rule that a new passcode has to meet, beside the rules of an application's policy.
///
/// Validators are asked in their order, after the length of the passcode and before everything else, and the first
/// objection is the answer. A validator is a pure value: the same arguments always give the same answer. Every
/// validator runs `PasscodeValidatorSuite` of RouterTesting.
public protocol PasscodeValidator: Sendable {
    /// The validator's own name.
    var id: PluginID { get }
    /// The reason why the passcode is refused; nil if it is accepted.
    func objection(to passcode: Passcode, for application: ApplicationID) -> PasscodeObjection?
}

/// A validator's objection to a passcode. It never quotes the passcode, because it is sent over the network.
public struct PasscodeObjection: Hashable, Sendable {
    /// Stable and in kebab-case.
    public let code: String
    /// One sentence for the person who has chosen the passcode.
    public let message: String

    /// Both parts.
    public init(code: String, message: String) {
        self.code = code
        self.message = message
    }
}
