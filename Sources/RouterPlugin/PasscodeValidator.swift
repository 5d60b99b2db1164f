/// A rule of its own that a new passcode has to meet, beside what an application's policy asks for.
///
/// Validators are asked in their order, after the length of the passcode and before everything else, and the first
/// objection is the answer. A validator is a pure value: the same arguments always give the same answer. Every validator
/// runs `PasscodeValidatorSuite` of RouterTesting.
public protocol PasscodeValidator: Sendable {
    /// The validator's own name.
    var id: PluginID { get }
    /// Why the passcode will not do; nil if it will.
    func objection(to passcode: Passcode, for application: ApplicationID) -> PasscodeObjection?
}

/// What a validator has against a passcode. It never quotes the passcode: it is sent over the network.
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
