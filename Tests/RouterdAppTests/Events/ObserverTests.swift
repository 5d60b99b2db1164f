import HTTPTypes
import Router
import RouterPlugin
import RouterdApp
import Synchronization
import TestSupport
import Testing

@testable import DaemonTesting

/// The events and the order of observers, and how little an observer can affect others.
@Suite("Observers", .longest)
struct ObserverTests {
    /// Records the events of several observers.
    final class Notes: Sendable {
        private let list = Mutex<[(observer: String, event: RouterEvent)]>([])
        let count = Tally()

        func add(_ observer: String, _ event: RouterEvent) {
            list.withLock { $0.append((observer, event)) }
            count.add()
        }

        /// Lines such as `a session.registered`.
        var lines: [String] { list.withLock { $0.map { "\($0.observer) \($0.event.type.rawValue)" } } }

        func lines(of observer: String) -> [String] {
            lines.filter { $0.hasPrefix("\(observer) ") }.map { String($0.dropFirst(observer.count + 1)) }
        }
    }

    struct Observer: SceneObserver {
        struct Refusal: Error {}

        let id: PluginID
        let notes: Notes
        var before: @Sendable (RouterEvent) throws -> Void = { _ in }

        init(_ name: String, _ notes: Notes, before: @escaping @Sendable (RouterEvent) throws -> Void = { _ in }) {
            id = PluginID(unchecked: "test.\(name)")
            self.notes = notes
            self.before = before
        }

        func observe(_ event: RouterEvent) throws {
            try before(event)
            notes.add(String(id.text.dropFirst(5)), event)
        }
    }

    private static let session = #"{"endpoint":{"url":"http://127.0.0.1:1/"}"#

    private func withObservers(
        _ observers: [any SceneObserver], limits: ObserverLimits = ObserverLimits(),
        _ body: @Sendable (TestDaemon) async throws -> Void
    ) async throws {
        var options = TestDaemon.Options()
        options.observers = observers
        options.observerLimits = limits
        try await withDaemon(options) { daemon in try await body(daemon) }
    }

    private let puts = Tally()

    /// Puts the gallery, each time with another name: an unchanged application is no event.
    private func put(_ daemon: TestDaemon, _ observers: String) async throws {
        puts.add()
        let fields = #""delivery":{"lifeCycleEvents":false},"displayName":"\#(puts.count)""#
        let answer = try await daemon.call(.put, TestDaemon.gallery, #"{\#(fields),"observers":\#(observers)}"#)
        #expect([200, 201].contains(answer.status), "\(answer.text)")
    }

    private func figures(_ daemon: TestDaemon, _ id: String) async throws -> JSONValue {
        let list = try await daemon.call(.get, "/v1/status")["observers"].asArray ?? []
        return list.first { $0["id"] == .string("test.\(id)") } ?? .null
    }

    // MARK: Registration

    @Test func theyAreToldInTheOrderOfTheirRegistration() async throws {
        let notes = Notes()
        var limits = ObserverLimits()
        // Slowness in this test comes from the machine.
        limits.patienceMilliseconds = 60_000
        try await withObservers(["a", "b", "c"].map { Observer($0, notes) }, limits: limits) { daemon in
            try await put(daemon, #"["test.c","test.a"]"#)
            try await daemon.call(
                .put, "\(TestDaemon.gallery)/sessions/A", "\(Self.session),\"observers\":[\"test.a\",\"test.b\"]}")
            try await daemon.call(.put, "\(TestDaemon.gallery)/sessions/B", "\(Self.session)}")
            try await daemon.call(
                .patch, "\(TestDaemon.gallery)/sessions/A", #"{"activationState":"background"}"#)
            try await daemon.call(.delete, "\(TestDaemon.gallery)/sessions/A")
            try await notes.count.reached(15 + 1)
            #expect(
                notes.lines == [
                    "c application.registered", "a application.registered",
                    "c session.registered", "a session.registered", "b session.registered",
                    "c session.registered", "a session.registered",
                    "c scene.willConnect", "a scene.willConnect", "b scene.willConnect",
                    "c scene.didDisconnect", "a scene.didDisconnect", "b scene.didDisconnect",
                    "c session.discarded", "a session.discarded", "b session.discarded",
                ])
        }
    }

    @Test func registrationIsKeptShownAndTakenBack() async throws {
        let directory = try TemporaryDirectory()
        let notes = Notes()
        var options = TestDaemon.Options()
        options.database = directory.file()
        options.observers = [Observer("a", notes), Observer("b", notes)]
        let path = "\(TestDaemon.gallery)/sessions/A"
        try await withDaemon(options) { daemon in
            try await put(daemon, #"["test.b","test.a"]"#)
            try await daemon.call(.put, path, "\(Self.session),\"observers\":[\"test.b\"]}")
        }
        try await withDaemon(options) { daemon in
            let application = try await daemon.call(.get, TestDaemon.gallery)
            #expect(application["observers"] == .array(["test.b", "test.a"]))
            var session = try await daemon.call(.get, path)
            #expect(session["observers"] == .array(["test.b"]))
            session = try await daemon.call(.patch, path, #"{"observers":["test.a"]}"#)
            #expect(session["observers"] == .array(["test.a"]))
            session = try await daemon.call(.patch, path, #"{"observers":null}"#)
            #expect(session["observers"] == .null)
        }
    }

    @Test func anUnknownObserverCannotBeRegistered() async throws {
        let notes = Notes()
        try await withObservers([Observer("a", notes)]) { daemon in
            let list = #"["test.a","test.b"]"#
            var answer = try await daemon.call(.put, TestDaemon.gallery, #"{"observers":\#(list)}"#)
            expectProblem(answer, 422, "unknown-observer")
            #expect(answer["pointer"] == "/observers/1")
            try await put(daemon, "[]")
            let path = "\(TestDaemon.gallery)/sessions/A"
            answer = try await daemon.call(.put, path, "\(Self.session),\"observers\":\(list)}")
            expectProblem(answer, 422, "unknown-observer")
            try await daemon.call(.put, path, "\(Self.session)}")
            answer = try await daemon.call(.patch, path, #"{"observers":\#(list)}"#)
            expectProblem(answer, 422, "unknown-observer")
            answer = try await daemon.call(.patch, path, #"{"observers":["test.a","test.a"]}"#)
            expectProblem(answer, 422, "invalid-field")
        }
    }

    // MARK: Misbehaving observers

    @Test func anObserverThatThrowsDisturbsNoOther() async throws {
        let notes = Notes()
        let bad = Observer("bad", notes) { _ in throw Observer.Refusal() }
        try await withObservers([bad, Observer("good", notes)]) { daemon in
            try await put(daemon, #"["test.bad","test.good"]"#)
            for _ in 0..<9 { try await put(daemon, #"["test.bad","test.good"]"#) }
            try await notes.count.reached(10)
            #expect(notes.lines(of: "good").count == 10)
            let figures = try await figures(daemon, "bad")
            #expect(figures["failed"] == 10)
            #expect(figures["missed"] == 0)
        }
    }

    @Test func oneThatHangsMissesEventsUntilItReturns() async throws {
        let notes = Notes()
        let (mayReturn, isInside) = (Tally(), Tally())
        let bad = Observer("bad", notes) { _ in
            isInside.add()
            mayReturn.wait(for: 1)
        }
        var limits = ObserverLimits()
        limits.milliseconds = 0
        limits.patienceMilliseconds = 1
        try await withObservers([bad, Observer("good", notes)], limits: limits) { daemon in
            try await put(daemon, #"["test.bad","test.good"]"#)
            try await isInside.reached(1)
            for _ in 0..<5 { try await put(daemon, #"["test.bad","test.good"]"#) }
            try await notes.count.reached(6)
            #expect(notes.lines(of: "good").count == 6)
            var found = try await figures(daemon, "bad")
            #expect(found["missed"] == 5)
            #expect(found["hangs"] == true)
            #expect(found["told"] == 0)
            mayReturn.add()
            try await notes.count.reached(7)
            while found["hangs"] == true {
                try Task.checkCancellation()
                found = try await figures(daemon, "bad")
            }
            try await put(daemon, #"["test.bad","test.good"]"#)
            try await notes.count.reached(9)
            #expect(notes.lines(of: "bad").count == 2)
        }
    }

    /// A slow observer receives all events, in order, while the others go ahead.
    @Test func oneThatIsSlowIsToldAside() async throws {
        let notes = Notes()
        let mayGoOn = Tally()
        let slow = Observer("slow", notes) { _ in mayGoOn.wait(for: 1) }
        var limits = ObserverLimits()
        limits.patienceMilliseconds = 1
        limits.milliseconds = 600_000
        try await withObservers([slow, Observer("good", notes)], limits: limits) { daemon in
            for _ in 0..<6 { try await put(daemon, #"["test.slow","test.good"]"#) }
            try await notes.count.reached(6)
            #expect(notes.lines(of: "good").count == 6)
            #expect(notes.lines(of: "slow") == [])
            mayGoOn.add()
            try await notes.count.reached(12)
            let figures = try await figures(daemon, "slow")
            #expect(figures["missed"] == 0)
        }
    }

    @Test func theEndOfTheDaemonWaitsForNobody() async throws {
        let notes = Notes()
        let (isInside, never) = (Tally(), Tally())
        let bad = Observer("bad", notes) { _ in
            isInside.add()
            never.wait(for: 1)
        }
        try await withObservers([bad]) { daemon in
            try await put(daemon, #"["test.bad"]"#)
            try await isInside.reached(1)
        }
        #expect(notes.lines == [])
        never.add()
    }

    // MARK: The line

    private static func event(_ sequence: Int64) -> RouterEvent {
        RouterEvent(
            sequence: sequence, type: .sessionChanged, time: Timestamp(milliseconds: 0),
            application: ApplicationID(unchecked: "a"))
    }

    @Test func aLineIsToldInOrderAndBounded() {
        var limits = ObserverLimits()
        limits.events = 2
        limits.milliseconds = 10
        var line = ObserverLine(limits)
        let start = Timestamp(milliseconds: 0)
        #expect(line.offer(Self.event(1), at: start) == .tell)
        #expect(line.offer(Self.event(2), at: start) == .later)
        #expect(line.offer(Self.event(3), at: start) == .later)
        #expect(line.offer(Self.event(4), at: start) == .missed)
        #expect(line.returned(hasFailed: true, at: start) == Self.event(2))
        #expect(line.offer(Self.event(5), at: Timestamp(milliseconds: 9)) == .later)
        #expect(line.missed == 1 && line.failed == 1 && line.told == 1)
        #expect(line.offer(Self.event(6), at: Timestamp(milliseconds: 10)) == .hangs)
        #expect(line.missed == 4 && line.hangs)
        #expect(line.offer(Self.event(7), at: Timestamp(milliseconds: 11)) == .missed)
        #expect(line.missed == 5)
        #expect(line.returned(hasFailed: false, at: Timestamp(milliseconds: 12)) == nil)
        #expect(!line.isBusy && !line.hangs)
        #expect(line.offer(Self.event(8), at: Timestamp(milliseconds: 13)) == .tell)
    }
}
