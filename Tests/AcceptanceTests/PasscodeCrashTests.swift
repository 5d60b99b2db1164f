import Glibc
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// The real binary is killed while a passcode is compared; `StoryCrashTests` kills it at all other steps.
@Suite("kill -9: passcodes", .longest)
struct PasscodeCrashTests {
    /// - Parameter logRounds: The cost of hashes: unoptimised code takes ten seconds for one of the usual cost.
    private func run(
        _ directory: TemporaryDirectory, logRounds: Int = 10,
        _ body: @escaping @Sendable (ServedDaemon, Program) async throws -> Void
    ) async throws {
        let cost = ["ROUTERD_PASSCODES_LOG_ROUNDS": "\(logRounds)", "ROUTERD_PASSCODES_PARALLELISM": "1"]
        let (program, port) = try await ServedDaemon.start(database: directory.file(), environment: cost)
        do {
            try await ServedDaemon.connected(to: program, port: port) { try await body($0, program) }
        } catch {
            program.send(SIGKILL)
            throw error
        }
        program.send(SIGKILL)
        #expect(try await program.ended().status == -SIGKILL)
    }

    /// Killed while a passcode is compared: the try is used up, though its outcome is unknown.
    @Test func aTryIsUsedUpByAKill() async throws {
        let directory = try TemporaryDirectory()
        try await withReceiver { receiver in
            try await run(directory, logRounds: 14) { daemon, program in
                try await daemon.putTablet(receiver)
                try await daemon.takeOn(passcode: "1234")
                try await daemon.leaveAndComeBack()
                let (term, port) = (try await daemon.term, daemon.port)
                await withTaskGroup(of: Void.self) { group in
                    group.addTask {
                        let body = #"{"session":"win-1","term":\#(term),"passcode":"1234"}"#
                        _ = try? await RawConnection.exchange(
                            "POST \(Tablet.gate)/passcode/input HTTP/1.1\r\nhost: 127.0.0.1\r\n"
                                + "content-length: \(body.utf8.count)\r\n\r\n\(body)", with: port)
                    }
                    group.addTask {
                        // It is counted before it is compared, and that takes longer than this.
                        while (try? await daemon.passcodeStatus["triesRemaining"]) == 3 {}
                        program.send(SIGKILL)
                    }
                }
            }
            try await run(directory) { daemon, _ in
                let (state, status) = (try await daemon.gateState, try await daemon.passcodeStatus)
                #expect(state == "locked" && status["triesRemaining"] == 2)
                let answer = try await daemon.type("1234")
                #expect(answer["state"] == "opened")
            }
        }
    }
}
