import Glibc
import TestSupport
import Testing

@testable import DaemonTesting

/// A daemon that a supervisor such as systemd has started.
@Suite("supervised daemons", .longest)
struct SupervisedDaemonTests {
    @Test func theDaemonTellsItsStates() async throws {
        let directory = try TemporaryDirectory()
        let socket = try NotifySocket(directory.file("notify"))
        let environment = ["NOTIFY_SOCKET": socket.name, "WATCHDOG_USEC": "100000"]
        let (program, port) = try await ServedDaemon.start(database: directory.file(), environment: environment)
        #expect(try await socket.until("READY=1").last == "READY=1\nSTATUS=listening on 127.0.0.1:\(port)")
        #expect(try await socket.next() == "WATCHDOG=1")
        #expect(try await socket.next() == "WATCHDOG=1")
        program.send(SIGTERM)
        let last = try await socket.until("STOPPING=1")
        #expect(last.dropLast().allSatisfy { $0 == "WATCHDOG=1" })
        #expect(try await program.ended().status == 0)
    }
}
