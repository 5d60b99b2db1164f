import HTTPTypes
package import Router
package import RouterPlugin

/// The public facts about a passcode, on the wire; none of them helps to guess it.
package enum PasscodeStatusBody {
    /// - Parameter languages: The languages for the texts of screens, the best one first.
    package static func write(
        _ lock: PasscodeLock, under policy: PasscodePolicy, of gates: GateSettings, at now: Timestamp,
        in languages: [String]
    ) -> [UInt8] {
        JSONWriter.object { body in
            body.field("device", lock.key.device)
            body.field("isCreated", lock.hash != nil)
            if let time = lock.chosenAt { body.field("chosenAt", time.rfc3339) }
            body.field("mustBeChanged", lock.isExpired(under: policy, at: now))
            body.field("hasDeviceKey", lock.deviceKey != nil)
            body.field("triesRemaining", triesRemaining(policy.triesRemaining(after: lock.tries)))
            if let time = lock.notBefore, time > now { body.field("notBefore", time.rfc3339) }
            if let time = lock.locksAt(under: policy) { body.field("locksAt", time.rfc3339) }
            body.object("policy") { policy.write(to: &$0) }
            ProofIssuerBody.writeNames(gates.issuers, to: &body)
            RelyingPartyBody.write(gates.relyingParty, to: &body)
            body.object("prompts") { gates.prompts.write(Prompt.passcode, in: languages, to: &$0) }
        }
    }

    /// The rules that a passcode candidate does not meet, in the order of the policy.
    package static func write(
        _ faults: [PasscodeFault], _ prompts: PromptTexts, in languages: [String]
    ) -> [UInt8] {
        JSONWriter.object { body in
            body.field("meetsPolicy", faults.isEmpty)
            body.array("faults") { list in
                for fault in faults {
                    list.object {
                        $0.field("rule", fault.rule)
                        $0.field("message", fault.message(prompts, in: languages))
                    }
                }
            }
        }
    }

    /// -1 stands for no limit, as in the policy.
    fileprivate static func triesRemaining(_ tries: Int?) -> Int { tries ?? PasscodePolicy.noLimit }
}

extension Problem {
    /// The passcode is not the chosen one.
    ///
    /// - Parameter message: For the person, in a language of theirs.
    static func invalidPasscode(triesRemaining tries: Int?, _ message: String) -> Problem {
        var problem = Problem(.forbidden, "invalid-passcode", message, pointer: "/passcode")
        problem.triesRemaining = PasscodeStatusBody.triesRemaining(tries)
        return problem
    }

    /// The two entries of a new passcode differ.
    static func failedToMatch(triesRemaining tries: Int?, _ message: String) -> Problem {
        var problem = Problem(.unprocessableContent, "failed-to-match", message, pointer: "/confirmation")
        problem.triesRemaining = PasscodeStatusBody.triesRemaining(tries)
        return problem
    }

    static let invalidSignature = Problem(
        .forbidden, "invalid-signature", "The challenge was not signed by the key of the device.",
        pointer: "/signature")

    /// A chosen passcode does not meet the policy.
    init(_ fault: PasscodeFault, _ prompts: PromptTexts, in languages: [String]) {
        self.init(.unprocessableContent, "failed-to-meet-policy", fault.message(prompts, in: languages))
        rule = fault.rule
    }

    init(_ refusal: PasscodeLock.Refusal) {
        switch refusal {
        case .off: self.init(.notFound, "passcodes-off", "The application has no passcodes.")
        case .required:
            self.init(
                .conflict, "passcode-required",
                "Before that a passcode has to be chosen, or the one that there is typed, in this term.")
        case .notCreated: self.init(.conflict, "no-passcode", "There is no passcode yet.")
        case .alreadyCreated: self.init(.conflict, "passcode-exists", "There is a passcode; it can be changed.")
        case .tooSoon(let seconds):
            self.init(
                .tooManyRequests, "too-many-tries", Prompt.tooManyTries.standardText,
                retryAfter: Int(clamping: seconds))
        case .exhausted:
            self.init(
                .forbidden, "retry-limit-reached", Prompt.retryLimitReached.standardText,
                pointer: "/passcode")
            triesRemaining = 0
        case .staleTrial:
            self.init(.conflict, "stale-trial", "The passcode was compared for too long; type it again.")
        case .expired:
            self.init(.forbidden, "passcode-expired", "The passcode has been used for too long and has to be changed.")
        case .biometricsNotAllowed:
            self.init(.forbidden, "biometrics-not-allowed", "The policy does not let a device stand in for a passcode.")
        case .noDeviceKey: self.init(.conflict, "no-device-key", "The device has given no key of its own.")
        case .proofsNotAllowed:
            self.init(.forbidden, "proofs-not-allowed", "The application trusts no issuer of proofs.")
        case .staleChallenge:
            self.init(
                .conflict, "stale-challenge", "The challenge is over, or it is another one; ask for a new one.",
                pointer: "/challenge")
        }
    }
}

extension PasscodeLock.Refusal {
    /// The prompt that tells a person of it; nil if it is the program's matter.
    var prompt: Prompt? {
        switch self {
        case .tooSoon: .tooManyTries
        case .exhausted: .retryLimitReached
        default: nil
        }
    }
}

extension PasscodeFault {
    /// One sentence for the person who chose the passcode. A validator has its own.
    fileprivate func message(_ prompts: PromptTexts, in languages: [String]) -> String {
        switch self {
        case .refused(_, let objection): objection.message
        case .tooShort(let minimum):
            Self.filled(prompts.text(of: .minLength, in: languages), with: minimum)
        case .tooFewUnique(let minimum):
            Self.filled(prompts.text(of: .minUniqueChars, in: languages), with: minimum)
        case .notDigitsOnly: prompts.text(of: .isDigitsOnly, in: languages)
        case .noDigit: prompts.text(of: .hasDigit, in: languages)
        case .noUpper: prompts.text(of: .hasUpper, in: languages)
        case .noLower: prompts.text(of: .hasLower, in: languages)
        case .noSpecial: prompts.text(of: .hasSpecial, in: languages)
        }
    }

    private static func filled(_ text: String, with minimum: Int) -> String {
        text.replacing(Prompt.minimumPlace, with: "\(minimum)")
    }
}
