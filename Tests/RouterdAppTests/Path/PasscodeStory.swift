import RouterPlugin
import Testing

/// The SAP story's half that is about passcodes, step by step: every step begins where the one before it has ended, and may
/// be told to a daemon that was killed in between.
enum PasscodeStory {
    typealias Step = @Sendable (any APICaller, Receiver) async throws -> Void

    static let steps: [(name: String, run: Step)] = [
        ("registered", { daemon, receiver in try await daemon.putTablet(receiver) }),
        ("opened by a window", opened), ("a passcode is chosen", chosen), ("left and locked", locked),
        ("wrong passcodes", wrong), ("the right one", unlocked), ("changed", changed),
        ("the old one is wrong", oldOne), ("the limit of tries", exhausted), ("another person", another),
    ]

    private static let opened: Step = { daemon, _ in
        #expect(try await daemon.atGate("open", term: nil)["state"] == "onboarding")
        expectProblem(try await daemon.atGate("succeed"), 409, "passcode-required")
    }

    private static let chosen: Step = { daemon, _ in
        let short = try await daemon.atGate("passcode/create", #""passcode":"123","confirmation":"123""#)
        expectProblem(short, 422, "failed-to-meet-policy")
        #expect(short["rule"] == "minLength")
        let other = try await daemon.atGate("passcode/create", #""passcode":"1234","confirmation":"1235""#)
        expectRefused(other, 422, "failed-to-match", triesRemaining: 3)
        let created = try await daemon.atGate("passcode/create", #""passcode":"1234","confirmation":"1234""#)
        #expect(created.status == 201 && created["state"] == "onboarding", "\(created.text)")
        #expect(try await daemon.atGate("succeed")["state"] == "opened")
    }

    private static let locked: Step = { daemon, receiver in
        try await daemon.move("win-1", to: "background")
        #expect(try await daemon.gateState == "locked")
        for number in 1...3 {
            let answer = try await daemon.notifyTablet("n\(number)")
            #expect(answer.status == 202 && answer["state"] == "held", "\(answer.text)")
        }
        #expect(notifications(receiver).isEmpty)
    }

    private static let wrong: Step = { daemon, receiver in
        let term = try await daemon.term
        expectProblem(try await daemon.type("1234", by: "win-2"), 409, "not-responsible")
        let stale = try await daemon.atGate("passcode/input", #""passcode":"1234""#, term: term - 1)
        expectProblem(stale, 409, "stale-term")
        expectProblem(try await daemon.type("1234"), 409, "not-in-foreground")
        try await daemon.move("win-1", to: "foregroundActive")
        expectRefused(try await daemon.type("4321"), 403, "invalid-passcode", triesRemaining: 2)
        #expect(try await daemon.passcodeStatus["triesRemaining"] == 2)
        #expect(try await daemon.gateState == "locked" && notifications(receiver).isEmpty)
    }

    private static let unlocked: Step = { daemon, receiver in
        let answer = try await daemon.type("1234")
        #expect(answer.status == 200 && answer["state"] == "opened", "\(answer.text)")
        #expect(try await daemon.passcodeStatus["triesRemaining"] == 3)
        let last = try await daemon.notifyTablet("n4")
        try await daemon.awaitDelivery(of: last.id)
        #expect(notifications(receiver) == ["n1", "n2", "n3", "n4"])
    }

    private static let changed: Step = { daemon, _ in
        expectRefused(try await daemon.change("4321", to: "5678"), 403, "invalid-passcode", triesRemaining: 2)
        let answer = try await daemon.change("1234", to: "5678")
        #expect(answer.status == 200 && answer["state"] == "opened", "\(answer.text)")
    }

    private static let oldOne: Step = { daemon, _ in
        try await daemon.leaveAndComeBack()
        expectRefused(try await daemon.type("1234"), 403, "invalid-passcode", triesRemaining: 2)
        #expect(try await daemon.type("5678")["state"] == "opened")
    }

    private static let exhausted: Step = { daemon, receiver in
        try await daemon.leaveAndComeBack()
        #expect(try await daemon.notifyTablet("n5")["state"] == "held")
        for left: Int64 in [2, 1] {
            expectRefused(try await daemon.type("0000"), 403, "invalid-passcode", triesRemaining: left)
        }
        expectRefused(try await daemon.type("0000"), 403, "retry-limit-reached", triesRemaining: 0)
        #expect(try await daemon.gateState == "resetting")
        #expect(try await daemon.passcodeStatus["isCreated"] == false)
        for window in ["win-1", "win-2"] {
            let info = try await daemon.session(window)["userInfo"]
            #expect(info.asObject?.members.isEmpty == true, "\(info)")
        }
        #expect(notifications(receiver) == ["n1", "n2", "n3", "n4"])
    }

    private static let another: Step = { daemon, receiver in
        #expect(try await daemon.atGate("succeed")["state"] == "notOpened")
        try await daemon.takeOn(passcode: "9999")
        let last = try await daemon.notifyTablet("n6")
        try await daemon.awaitDelivery(of: last.id)
        #expect(notifications(receiver) == ["n1", "n2", "n3", "n4", "n5", "n6"])
    }

    /// The contents of the notifications that have come to the windows, in their order. A repetition bears the same id.
    static func notifications(_ receiver: Receiver) -> [String] {
        var known: Set<String> = []
        return receiver.all.filter { $0.path.hasPrefix("/win-") && known.insert($0.id).inserted }
            .compactMap(\.contentID)
    }
}
