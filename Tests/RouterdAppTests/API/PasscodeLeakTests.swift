import HTTPTypes
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// No log line, answer, webhook or file holds a passcode, whether the request was valid or not.
@Suite("Passcodes are not told", .longest)
struct PasscodeLeakTests {
    private static let right = "Canary-Right-1"
    private static let passcodes = [right, "Canary-Wrong-2", "Canary-New-3", "Canary", #"Canary\u0000"#]

    /// Requests that hold a passcode, and are valid or not in another member.
    private static func bodies(_ passcode: String, term: Int64) -> [String] {
        let head = #""session":"win-1","term":\#(term)"#
        return [
            #"{\#(head),"passcode":"\#(passcode)"}"#, #"{"passcode":"\#(passcode)"}"#,
            #"{\#(head),"passcode":"\#(passcode)","confirmation":"\#(passcode)"}"#,
            #"{\#(head),"passcode":"\#(passcode)","confirmation":"Canary-Else-4"}"#,
            #"{\#(head),"passcode":"\#(right)","newPasscode":"\#(passcode)","confirmation":"\#(passcode)"}"#,
            #"{\#(head),"passcode":["\#(passcode)"]}"#, #"{\#(head),"passcode":"\#(passcode)","\#(passcode)x":1}"#,
            #"{\#(head),"passcode":"\#(passcode)","#,
            #"{\#(head),"passcode":"\#(passcode)","passcode":"\#(passcode)"}"#,
            #"{"session":"\#(passcode)","term":\#(term)}"#, #"{\#(head),"challenge":"\#(passcode)","signature":"x"}"#,
            #"{\#(head),"passcode":"\#(passcode)","confirmation":"\#(passcode)","deviceKey":"\#(passcode)"}"#,
            #"{\#(head),"passcode":"\#(passcode)","deviceKey":null}"#,
            #"{\#(head),"passcode":"\#(right)","deviceKey":"\#(passcode)"}"#,
            #"{\#(head),"token":"\#(passcode)"}"#, #"{\#(head),"token":"e30.e30.\#(passcode)"}"#,
        ]
    }

    @Test func nothingHoldsAPasscode() async throws {
        let log = CapturedLog()
        let directory = try TemporaryDirectory()
        let answers = Tally()
        try await withReceiver { receiver in
            try await withDaemon(.init(database: directory.file(), isLive: true, logger: log.logger)) { daemon in
                try await daemon.putTablet(
                    receiver, policy: #"{"minLength":7,"retryLimit":900,"lockTimeoutSeconds":0}"#)
                func tryAll() async throws {
                    for passcode in Self.passcodes {
                        for step in ["check", "create", "input", "change", "challenge", "answer", "proof", "key"] {
                            for body in Self.bodies(passcode, term: try await daemon.term) {
                                let answer = try await daemon.call(
                                    step == "key" ? .put : .post, "\(Tablet.gate)/passcode/\(step)", body)
                                answers.add()
                                // A text sent as an identifier is named in the refusal.
                                guard !body.hasPrefix(#"{"session":"Canary"#) else { continue }
                                let isQuoted = (answer.text + "\(answer.headers)").contains("Canary")
                                #expect(!isQuoted, "\(step) \(body): \(answer.text)")
                            }
                        }
                    }
                }
                _ = try await daemon.atGate("open", term: nil)
                try await tryAll()
                _ = try await daemon.atGate("succeed")
                try await tryAll()
                try await daemon.move("win-1", to: "background")
                try await tryAll()
                try await daemon.move("win-1", to: "foregroundActive")
                try await tryAll()
                for path in [
                    TestDaemon.gallery, "\(Tablet.gate)?device=tablet", "\(Tablet.gate)/passcode?device=tablet",
                ] {
                    let answer = try await daemon.call(.get, path)
                    #expect(!answer.text.contains("Canary"))
                }
                let told = receiver.all.map { String(decoding: $0.body, as: UTF8.self) }
                #expect(told.allSatisfy { !$0.contains("Canary") })
            }
        }
        #expect(answers.count > 500 && !log.text.isEmpty)
        #expect(!log.text.contains("Canary"))
        #expect(try Traces.find("Canary", in: directory).isEmpty)
        // A text that is stored is found, which proves the search.
        #expect(try Traces.find("Ada", in: directory).isEmpty == false)
    }
}
