import NIOCore
import NIOEmbedded
import Router
import RouterPlugin
import Synchronization
import Testing

@testable import RouterdApp

/// Attempts over streams: which of them count as made when a connection ends.
@Suite("Stream hub")
struct StreamHubTests {
    private static let session = SessionKey(
        application: ApplicationID(unchecked: "com.example.gallery"), session: SessionID(unchecked: "A"))
    private static let start = Timestamp(milliseconds: 1_795_674_000_000)

    /// A hub with what the engine has heard of it.
    private final class Bench: Sendable {
        let hub: StreamHub
        let loop = NIOAsyncTestingEventLoop()
        private struct State {
            var outcomes: [String: [TransferResult.Outcome]] = [:]
            var detached: [Int64] = []
            var refuses = false
        }

        private let state = Mutex(State())

        init(bytes: Int = 1 << 20) { hub = StreamHub(memory: StreamMemory(bytes: bytes)) }

        func consumer(isPoll: Bool = false) -> StreamConsumer {
            StreamConsumer(session: StreamHubTests.session, isPoll: isPoll, loop: loop, memory: hub.memory)
        }

        @discardableResult
        func attach(isPoll: Bool = false) -> StreamConsumer {
            let consumer = consumer(isPoll: isPoll)
            _ = hub.attach(consumer, at: StreamHubTests.start)
            return consumer
        }

        func detach(_ consumer: StreamConsumer) {
            hub.detach(consumer) { command in
                guard case .detachConsumer(_, let epoch) = command else { return }
                self.state.withLock { $0.detached.append(epoch) }
            }
        }

        /// From now on the engine cannot commit outcomes for which a client waits.
        func refuse(_ refuses: Bool = true) { state.withLock { $0.refuses = refuses } }

        /// - Parameter then: Called before the client is answered, as the engine goes on by then.
        func send(
            _ id: String, attempt: Int = 1, timeoutSeconds: Int = 15, bytes: Int = 10,
            then: @escaping @Sendable () -> Void = {}
        ) {
            let envelope = [UInt8](repeating: 0x20, count: bytes)
            let message = StreamMessage(id: id, attempt: attempt, sequence: nil, envelope: envelope)
            hub.start(message, to: StreamHubTests.session, timeoutSeconds: timeoutSeconds) { result, answer in
                let refuses = self.state.withLock { state in
                    if answer == nil || !state.refuses { state.outcomes[id, default: []].append(result.outcome) }
                    return state.refuses
                }
                then()
                answer?(refuses ? .refused(.overloaded) : .none)
                return true
            }
        }

        func acknowledge(_ id: String) async -> Reply? {
            await hub.settle(id, of: StreamHubTests.session, with: ReceivedResponse(status: 204))
        }

        var detached: [Int64] { state.withLock(\.detached) }

        /// The kinds of failures of an attempt; "taken" for an answer.
        func outcomes(_ id: String) -> [String] {
            state.withLock { $0.outcomes[id] ?? [] }.map { outcome in
                if case .failure(let failure) = outcome { failure.kind.rawValue } else { "taken" }
            }
        }
    }

    private func messages(_ step: StreamConsumer.Step) -> [String] {
        if case .messages(let messages) = step { messages.map(\.id) } else { [] }
    }

    @Test("Messages that a connection has not taken are handed back; taken messages may have arrived")
    func detaching() async {
        let bench = Bench()
        let consumer = bench.attach()
        bench.send("a")
        #expect(messages(await consumer.next()) == ["a"])
        bench.send("b")
        bench.detach(consumer)
        #expect(bench.outcomes("a") == ["stream-ended"] && bench.outcomes("b") == ["no-consumer"])
        #expect(bench.detached == [consumer.epoch] && bench.hub.attemptsUnderWay == 0)
        if case .ended = await consumer.next() {} else { Issue.record("The connection goes on.") }
    }

    @Test("A stream takes over written and unwritten messages from another stream", arguments: [false, true])
    func takingOver(isPoll: Bool) async {
        let bench = Bench()
        let first = bench.attach(isPoll: isPoll)
        bench.send("a")
        #expect(messages(await first.next()) == ["a"])
        bench.send("b")
        let second = bench.attach()
        #expect(second.epoch > first.epoch)
        #expect(bench.outcomes("a") == ["stream-ended"] && bench.outcomes("b") == ["no-consumer"])
        if case .closed(.superseded) = await first.next() {} else { Issue.record("The first one is not told.") }
        bench.detach(first)
        #expect(bench.detached.isEmpty, "The session is still connected.")
    }

    @Test("A poll that has ended keeps its messages, but for those that came too late", arguments: [false, true])
    func polling(isOvertaken: Bool) async {
        let bench = Bench()
        let first = bench.attach(isPoll: true)
        bench.send("a")
        #expect(messages(await first.next()) == ["a"])
        bench.send("b")
        if isOvertaken { bench.attach(isPoll: true) } else { bench.detach(first) }
        #expect(bench.outcomes("a").isEmpty && bench.outcomes("b") == ["no-consumer"])
        #expect(await bench.acknowledge("a") != nil)
        #expect(bench.outcomes("a") == ["taken"] && bench.hub.attemptsUnderWay == 0)
    }

    @Test("A receiver that reads nothing is sent nothing; a receiver that does not answer runs out of time")
    func timingOut() async {
        let bench = Bench()
        let consumer = bench.attach()
        bench.send("a", timeoutSeconds: 15)
        #expect(messages(await consumer.next()) == ["a"])
        bench.send("b", timeoutSeconds: 15)
        await bench.loop.advanceTime(by: .seconds(14))
        #expect(bench.outcomes("a").isEmpty && bench.outcomes("b").isEmpty)
        await bench.loop.advanceTime(by: .seconds(1))
        #expect(bench.outcomes("a") == ["timed-out"] && bench.outcomes("b") == ["no-consumer"])
        consumer.nudge()
        #expect(messages(await consumer.next()).isEmpty, "It is not written later on.")
    }

    @Test("An acknowledgement ends the time of its attempt, and nothing of the message stays behind")
    func timers() async {
        let bench = Bench()
        let consumer = bench.attach()
        bench.send("a")
        _ = await consumer.next()
        #expect(await bench.acknowledge("a") != nil)
        #expect(await bench.acknowledge("a") == nil)
        bench.send("a", attempt: 2, timeoutSeconds: 60)
        await bench.loop.advanceTime(by: .seconds(20))
        #expect(bench.outcomes("a") == ["taken"], "The second attempt has a time of its own.")
        #expect(await bench.acknowledge("a") != nil)
    }

    @Test("An acknowledgement that cannot be kept leaves the attempt under way", arguments: [false, true])
    func puttingBack(isPoll: Bool) async {
        let bench = Bench()
        let consumer = bench.attach(isPoll: isPoll)
        bench.send("a")
        _ = await consumer.next()
        if isPoll { bench.detach(consumer) }
        bench.refuse()
        #expect(await bench.acknowledge("a") != nil)
        #expect(bench.outcomes("a").isEmpty && bench.hub.attemptsUnderWay == 1)
        bench.refuse(false)
        #expect(await bench.acknowledge("a") != nil)
        #expect(bench.outcomes("a") == ["taken"])
    }

    @Test("A message that is acknowledged before it is written is written no more")
    func acknowledgingUnwritten() async {
        let bench = Bench()
        let consumer = bench.attach()
        bench.send("a", attempt: 2)
        #expect(await bench.acknowledge("a") != nil)
        consumer.nudge()
        #expect(messages(await consumer.next()).isEmpty)
        #expect(bench.outcomes("a") == ["taken"])
    }

    @Test("The next attempt that starts before a client is answered is written")
    func startingAgain() async {
        let bench = Bench()
        let consumer = bench.attach()
        bench.send("a") { bench.send("a", attempt: 2) }
        #expect(messages(await consumer.next()) == ["a"])
        #expect(await bench.acknowledge("a") != nil)
        consumer.nudge()
        #expect(messages(await consumer.next()) == ["a"])
    }

    @Test("A delivery that was settled otherwise is written no more")
    func forgetting() async {
        let bench = Bench()
        let consumer = bench.attach()
        bench.send("a", attempt: 2)
        bench.hub.forget("a", of: Self.session)
        consumer.nudge()
        #expect(messages(await consumer.next()).isEmpty)
        #expect(bench.outcomes("a") == ["taken"] && bench.hub.attemptsUnderWay == 0)
    }

    @Test("Messages that are not read have a bound, and none is lost for it")
    func memory() async {
        let bench = Bench(bytes: 90)
        let consumer = bench.attach()
        bench.send("a", bytes: 70)
        // An application leaves a ninth to others.
        bench.send("b", bytes: 11)
        #expect(bench.outcomes("b") == ["no-socket"] && bench.outcomes("a").isEmpty)
        #expect(messages(await consumer.next()) == ["a"])
        // It is written when the next one is asked for.
        #expect(bench.hub.memory.free == 20)
        consumer.nudge()
        if case .nudged = await consumer.next() {} else { Issue.record("It was not nudged.") }
        #expect(bench.hub.memory.free == 90)
        bench.send("b", attempt: 2, bytes: 70)
        bench.detach(consumer)
        #expect(bench.outcomes("b") == ["no-socket", "no-consumer"] && bench.hub.memory.free == 90)
        bench.send("c", bytes: 10)
        #expect(bench.outcomes("c") == ["no-consumer"] && bench.hub.memory.free == 90)
    }

    @Test("A connection that goes with its last message gives its memory back")
    func memoryOfTheLast() async {
        let bench = Bench(bytes: 90)
        do {
            let consumer = bench.attach(isPoll: true)
            bench.send("a", bytes: 70)
            #expect(messages(await consumer.next()) == ["a"])
            bench.detach(consumer)
            #expect(bench.hub.memory.free == 20)
        }
        _ = await bench.acknowledge("a")
        #expect(bench.hub.memory.free == 90)
    }

    @Test("A poll hands back the messages that it has taken if its client has gone, and no others")
    func handingBack() async {
        let bench = Bench()
        let consumer = bench.attach(isPoll: true)
        bench.send("a")
        guard case .messages(let taken) = await consumer.next() else {
            Issue.record("It has no message.")
            return
        }
        bench.detach(consumer)
        bench.hub.handBack(taken, of: bench.consumer(isPoll: true))
        #expect(bench.outcomes("a").isEmpty)
        bench.hub.handBack(taken, of: consumer)
        #expect(bench.outcomes("a") == ["no-consumer"] && bench.hub.attemptsUnderWay == 0)
    }

    @Test("A cut connection is told so; a later one of the session is none of its business")
    func cutting() async {
        let bench = Bench()
        let consumer = bench.attach()
        bench.send("a")
        bench.hub.cut([ConnectionCut(session: Self.session, epoch: consumer.epoch - 1)])
        #expect(bench.hub.count == 1)
        bench.hub.cut([ConnectionCut(session: Self.session, epoch: consumer.epoch)])
        #expect(bench.hub.count == 0 && bench.outcomes("a") == ["no-consumer"])
        if case .closed(.ended) = await consumer.next() {} else { Issue.record("It is not told.") }
        bench.detach(consumer)
        #expect(bench.detached.isEmpty)
    }

    @Test("A hub that ends has attempts that were not made, and starts none")
    func ending() async {
        let bench = Bench()
        let consumer = bench.attach()
        bench.send("a")
        #expect(messages(await consumer.next()) == ["a"])
        bench.send("b")
        bench.hub.end()
        bench.send("c")
        #expect(bench.outcomes("a") == ["stream-ended"] && bench.outcomes("b") == ["no-consumer"])
        #expect(bench.outcomes("c") == ["shutting-down"])
        #expect(bench.hub.attach(bench.consumer(), at: Self.start) == nil)
    }
}
