import HTTPTypes
import RouterPlugin
import Testing

/// A tablet shared by several people: two windows of an application that has a passcode.
enum Tablet {
    static let gate = "\(TestDaemon.gallery)/gate"
    static let policy = #"{"minLength":4,"retryLimit":3,"lockTimeoutSeconds":0}"#

    static func application(_ receiver: Receiver, policy: String = policy) -> String {
        let delegate = #""delegate":{"url":"\#(receiver.url("/delegate"))","secret":"\#(Receiver.secret)"}"#
        return #"{\#(delegate),"delivery":{"retrySchedule":[0,0,0,0]},"gates":{"passcode":\#(policy)}}"#
    }
}

extension APICaller {
    /// Registers the application and its windows: win-1 in the foreground, win-2 behind it.
    func putTablet(_ receiver: Receiver, policy: String = Tablet.policy) async throws {
        try await putGallery(Tablet.application(receiver, policy: policy))
        for (window, state) in [("win-1", "foregroundActive"), ("win-2", "background")] {
            let fields = #""device":"tablet","activationState":"\#(state)","userInfo":{"patient":"Ada"}"#
            try await putSession(window, at: receiver.url("/\(window)"), fields)
        }
    }

    /// Opens the gate and chooses a passcode, up to the end of onboarding.
    func takeOn(passcode: String, deviceKey: String? = nil) async throws {
        #expect(try await atGate("open", term: nil)["state"] == "onboarding")
        let key = deviceKey.map { #","deviceKey":"\#($0)""# } ?? ""
        let created = try await atGate(
            "passcode/create", #""passcode":"\#(passcode)","confirmation":"\#(passcode)"\#(key)"#)
        #expect(created.status == 201, "\(created.text)")
        #expect(try await atGate("succeed")["state"] == "opened")
    }

    func move(_ window: String, to state: String) async throws {
        let path = "\(TestDaemon.gallery)/sessions/\(window)"
        #expect(try await call(.patch, path, #"{"activationState":"\#(state)"}"#).status == 200)
    }

    /// Leaves the application, which locks at once, and brings a window back to the foreground.
    func leaveAndComeBack(_ window: String = "win-1") async throws {
        for state in ["background", "foregroundActive"] { try await move(window, to: state) }
        #expect(try await gateState == "locked")
    }

    var gateState: String? {
        get async throws { try await call(.get, "\(Tablet.gate)?device=tablet")["state"].asString }
    }

    var term: Int64 {
        get async throws { try await call(.get, "\(Tablet.gate)?device=tablet")["term"].asInt64 ?? -1 }
    }

    /// A request of a window to the gate, in the current term.
    func atGate(_ step: String, _ fields: String = "", by window: String = "win-1") async throws -> Answer {
        try await atGate(step, fields, by: window, term: try await term)
    }

    func atGate(
        _ step: String, _ fields: String = "", by window: String = "win-1", term: Int64?
    ) async throws -> Answer {
        let parts = [#""session":"\#(window)""#, term.map { #""term":\#($0)"# }, fields.isEmpty ? nil : fields]
        return try await call(.post, "\(Tablet.gate)/\(step)", "{\(parts.compactMap(\.self).joined(separator: ","))}")
    }

    func type(_ passcode: String, by window: String = "win-1") async throws -> Answer {
        try await atGate("passcode/input", #""passcode":"\#(passcode)""#, by: window)
    }

    func change(_ passcode: String, to chosen: String, by window: String = "win-1") async throws -> Answer {
        try await atGate(
            "passcode/change",
            #""passcode":"\#(passcode)","newPasscode":"\#(chosen)","confirmation":"\#(chosen)""#, by: window)
    }

    var passcodeStatus: Answer {
        get async throws { try await call(.get, "\(Tablet.gate)/passcode?device=tablet") }
    }

    /// Accepts a notification for the tablet; returns its id.
    func notifyTablet(_ content: String) async throws -> Answer {
        try await post(#"{"notification-content-id":"\#(content)"}"#, query: "?device=tablet")
    }

    /// Suspends until the notification is delivered.
    func awaitDelivery(of id: String) async throws {
        try await until { try await notification(id)["state"] == "delivered" }
    }
}

/// Expects that a passcode was refused with that code, and the number of tries left.
func expectRefused(
    _ answer: Answer, _ status: Int, _ code: String, triesRemaining: Int64,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    expectProblem(answer, status, code, sourceLocation: sourceLocation)
    #expect(answer["triesRemaining"].asInt64 == triesRemaining, "\(answer.text)", sourceLocation: sourceLocation)
}
