import CCurl
import Router
import TestSupport
import Testing

@testable import DeliveryCurl

/// Every event in every phase: the next phase where the event is allowed, and no change where it is not.
@Suite("The phases of a transfer")
struct TransferStateMachineTests {
    typealias Machine = TransferStateMachine

    private static let connection = Connection(peer: .v4(127, 0, 0, 1), peerPort: 443, ownPort: 1024)
    private static let other = Connection(peer: .v4(127, 0, 0, 1), peerPort: 443, ownPort: 1025)

    enum Event: CaseIterable {
        case prepare, handOver, awaitAddresses, useOwnConnection, needAddresses, send, clear

        /// Whether the event was allowed.
        func happen(to machine: inout Machine) -> Bool {
            switch self {
            case .prepare: return machine.prepare()
            case .handOver: return machine.handOver()
            case .awaitAddresses: return machine.awaitAddresses(until: 9)
            case .useOwnConnection: return machine.useOwnConnection()
            case .needAddresses: return machine.needAddresses()
            case .send: return machine.send(over: connection, at: 5)
            case .clear:
                machine.clear()
                return true
            }
        }
    }

    private static let start: [Machine.Phase: [Event]] = [
        .idle: [],
        .prepared: [.prepare],
        .connecting: [.prepare, .handOver],
        .sending: [.prepare, .handOver, .send],
        .unresolved: [.prepare, .handOver, .needAddresses],
        .awaiting(until: 9): [.prepare, .handOver, .needAddresses, .awaitAddresses],
    ]

    private static func machine(in phase: Machine.Phase) throws -> Machine {
        var machine = Machine()
        let events = try #require(start[phase])
        #expect(happen(events, to: &machine) && machine.phase == phase)
        return machine
    }

    /// Whether every event was allowed, one after the other.
    private static func happen(_ events: [Event], to machine: inout Machine) -> Bool {
        events.allSatisfy { $0.happen(to: &machine) }
    }

    /// The allowed events of each phase, with the next phase; every other event is illegal.
    private static let allowed: [Machine.Phase: [Event: Machine.Phase]] = [
        .idle: [.prepare: .prepared],
        .prepared: [.handOver: .connecting],
        .connecting: [.send: .sending, .needAddresses: .unresolved, .useOwnConnection: .prepared],
        .sending: [.send: .sending, .needAddresses: .unresolved, .useOwnConnection: .prepared],
        .unresolved: [.needAddresses: .unresolved, .awaitAddresses: .awaiting(until: 9), .useOwnConnection: .prepared],
        .awaiting(until: 9): [.awaitAddresses: .awaiting(until: 9), .handOver: .connecting],
    ]

    @Test("Each event in each phase", arguments: Array(start.keys), Event.allCases)
    func transitions(phase: Machine.Phase, event: Event) throws {
        var machine = try Self.machine(in: phase)
        let before = machine
        let isAllowed = event.happen(to: &machine)
        if event == .clear {
            #expect(machine == Machine())
        } else if let next = Self.allowed[phase]?[event] {
            #expect(isAllowed && machine.phase == next)
        } else {
            #expect(!isAllowed && machine == before, "An event that is not allowed changes nothing.")
        }
    }

    @Test("Each code in each phase", arguments: Array(start.keys))
    func finished(phase: Machine.Phase) throws {
        let machine = try Self.machine(in: phase)
        for code in [CURLE_OK, CURLE_OPERATION_TIMEDOUT, CURLE_COULDNT_CONNECT] {
            #expect(machine.finished(code) == .finish)
        }
        let isResolvable = phase == .unresolved
        #expect(machine.finished(CURLE_COULDNT_RESOLVE_HOST) == (isResolvable ? .awaitAddresses : .finish))
        #expect(machine.finished(CURLE_ABORTED_BY_CALLBACK) == (machine.isHandedOver ? .useOwnConnection : .finish))
    }

    @Test("A request asks for a connection of its own once")
    func ownConnectionOnce() throws {
        var machine = try Self.machine(in: .connecting)
        #expect(Self.happen([.useOwnConnection, .handOver], to: &machine) && machine.hasOwnConnection)
        #expect(machine.finished(CURLE_ABORTED_BY_CALLBACK) == .finish)
        #expect(!Self.happen([.useOwnConnection], to: &machine) && machine.phase == .connecting)
    }

    @Test("A request asks for addresses a bounded number of times, and fails then")
    func lookUpsAreBounded() throws {
        var machine = try Self.machine(in: .connecting)
        for _ in 0..<CurlLimits.lookUpsPerRequest {
            #expect(Self.happen([.needAddresses, .awaitAddresses, .handOver], to: &machine))
        }
        #expect(!Self.happen([.needAddresses], to: &machine) && machine.phase == .connecting)
        #expect(machine.finished(CURLE_COULDNT_RESOLVE_HOST) == .finish)
    }

    @Test(
        "A request that was given a connection stays begun, through look-ups and other connections, until it is cleared"
    )
    func begun() throws {
        var machine = try Self.machine(in: .sending)
        #expect(machine.hasBegun && machine.sent == Machine.Sent(over: Self.connection, at: 5))
        #expect(Self.happen([.needAddresses, .awaitAddresses, .handOver], to: &machine))
        #expect(machine.hasBegun && machine.sent?.over == Self.connection)
        let isSent = machine.send(over: Self.other, at: 7)
        #expect(isSent && machine.sent == Machine.Sent(over: Self.other, at: 7))
        machine.clear()
        #expect(!machine.hasBegun)
    }

    @Test("The end of a wait for addresses can be moved")
    func anotherMoment() throws {
        var machine = try Self.machine(in: .awaiting(until: 9))
        let isMoved = machine.awaitAddresses(until: 12)
        #expect(isMoved && machine.awaitsUntil == 12)
    }
}

/// The callbacks of the multi handle refuse every thread but the loop's, each in a process of its own.
@Suite("The owner of the multi handle", .longest)
struct OwnerThreadTests {
    /// Makes a call with the context of a callback, on the loop's thread or on another one.
    private static func call(
        onOwner: Bool, _ call: @escaping @Sendable (UnsafeMutableRawPointer) -> Void
    ) throws {
        let loop = try CurlLoop(configuration: CurlConfiguration(slots: 1), mailbox: try Mailbox())
        loop.begin()
        // Safety: the loop outlives the thread, which is joined.
        nonisolated(unsafe) let context = Unmanaged.passUnretained(loop.multi).toOpaque()
        if onOwner {
            call(context)
        } else {
            try LoopThread(named: "not-the-owner") { call(context) }.join()
        }
        withExtendedLifetime(loop) {}
    }

    @Test("On the loop's thread every callback is allowed")
    func owner() async {
        await #expect(processExitsWith: .success) {
            try Self.call(onOwner: true) { _ = CurlMulti.timerCallback(nil, 5, $0) }
            try Self.call(onOwner: true) { _ = CurlMulti.socketCallback(nil, -1, CURL_POLL_REMOVE, $0, nil) }
            try Self.call(onOwner: true) { _ = CurlMulti.closeCallback($0, -1) }
        }
    }

    @Test("The timer callback refuses another thread")
    func timer() async {
        await #expect(processExitsWith: .failure) {
            try Self.call(onOwner: false) { _ = CurlMulti.timerCallback(nil, 5, $0) }
        }
    }

    @Test("The socket callback refuses another thread")
    func socket() async {
        await #expect(processExitsWith: .failure) {
            try Self.call(onOwner: false) { _ = CurlMulti.socketCallback(nil, -1, CURL_POLL_REMOVE, $0, nil) }
        }
    }

    @Test("The callback that closes sockets refuses another thread")
    func closing() async {
        await #expect(processExitsWith: .failure) {
            try Self.call(onOwner: false) { _ = CurlMulti.closeCallback($0, -1) }
        }
    }
}
