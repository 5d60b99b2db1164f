import Foundation
import TestSupport
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// The messages of sd_notify, over real datagram sockets.
@Suite("Supervisor", .longest)
struct SupervisorTests {
    @Test(arguments: [true, false])
    func messagesComeAsOneDatagram(isAbstract: Bool) async throws {
        let directory = try TemporaryDirectory()
        let name = isAbstract ? "@routerd\(directory.file("n"))" : directory.file("n")
        let socket = try NotifySocket(name)
        let supervisor = try #require(Supervisor(environment: ["NOTIFY_SOCKET": name], process: 1))
        #expect(supervisor.watchdog == nil)
        #expect(supervisor.tell(.ready, .status("two\nlines")))
        #expect(try await socket.next() == "READY=1\nSTATUS=two lines")
        #expect(supervisor.tell(.reloading(microseconds: 7)) && supervisor.tell(.patience(seconds: 2)))
        #expect(try await socket.next() == "RELOADING=1\nMONOTONIC_USEC=7")
        #expect(try await socket.next() == "EXTEND_TIMEOUT_USEC=2000000")
    }

    @Test func aStateWaitsForRoomAndASignOfLifeDoesNot() async throws {
        let directory = try TemporaryDirectory()
        let socket = try NotifySocket(directory.file("n"))
        let supervisor = try #require(Supervisor(environment: ["NOTIFY_SOCKET": directory.file("n")], process: 1))
        while supervisor.tell(.watchdog) {}
        let teller = Thread { supervisor.tell(.ready) }
        teller.start()
        let seen = try await socket.until("READY=1")
        #expect(seen.count > 1 && seen.dropLast().allSatisfy { $0 == "WATCHDOG=1" })
    }

    @Test func aSupervisorThatIsGoneIsNoFault() throws {
        let directory = try TemporaryDirectory()
        let supervisor = try #require(Supervisor(environment: ["NOTIFY_SOCKET": directory.file()], process: 1))
        #expect(!supervisor.tell(.ready))
    }

    @Test(arguments: [nil, "", "relative", "vsock:1:2", "/" + String(repeating: "a", count: 200)])
    func otherNamesAreNoSockets(name: String?) {
        #expect(Supervisor(environment: name.map { ["NOTIFY_SOCKET": $0] } ?? [:], process: 1) == nil)
    }

    @Test(
        arguments: [
            (["WATCHDOG_USEC": "200"], .microseconds(200)),
            (["WATCHDOG_USEC": "200", "WATCHDOG_PID": "7"], .microseconds(200)),
            (["WATCHDOG_USEC": "200", "WATCHDOG_PID": "8"], nil), (["WATCHDOG_USEC": "0"], nil),
            (["WATCHDOG_USEC": "a"], nil),
        ] as [([String: String], Duration?)])
    func theWatchdogMayBeThatOfAnotherProcess(variables: [String: String], expected: Duration?) throws {
        let environment = variables.merging(["NOTIFY_SOCKET": "/run/x"]) { $1 }
        #expect(try #require(Supervisor(environment: environment, process: 7)).watchdog == expected)
    }
}
