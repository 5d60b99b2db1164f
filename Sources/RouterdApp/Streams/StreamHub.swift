import NIOCore
import Router
import RouterPlugin
import Synchronization

/// The transport to receivers that connect out: their connections, and the attempts that wait for an acknowledgement.
///
///     engine ──start──▶ hub ──push──▶ connection ──▶ receiver
///        ▲                │                              │
///        │                ├◀──── ack, nack ──────────────┘
///        └── outcome ◀────┴── time-out, end of the connection
///
/// An acknowledgement is answered when the outcome has been committed; until then the attempt is out of the table, and it
/// comes back if the commit fails. At most one connection of a session is in the table, under the greatest number.
final class StreamHub: Sendable {
    /// Reports the outcome of an attempt. With an answer, its client is told what became of the commit; false if the engine
    /// has no room for the command.
    typealias Finish = @Sendable (TransferResult, (@Sendable (Reply) -> Void)?) -> Bool

    /// Offers a command of the hub's own to the engine.
    typealias Tell = @Sendable (Command) -> Void

    /// An attempt that waits for its acknowledgement.
    private struct Pending: Sendable {
        let id: String
        let attempt: Int
        /// The connection that has it, or the poll that has taken it.
        let consumer: StreamConsumer
        let startedAt: ContinuousClock.Instant
        let deadline: ContinuousClock.Instant
        let finish: Finish
        var timer: Scheduled<Void>?

        /// Whether it goes on while this is the connection of its session. A poll has ended when its receiver answers.
        func goesOn(with current: StreamConsumer?) -> Bool { consumer.isPoll || current === consumer }
    }

    private struct Slot {
        var consumer: StreamConsumer?
        var pending: [String: Pending] = [:]
    }

    private struct State {
        var slots: [SessionKey: Slot] = [:]
        var lastEpoch: Int64 = 0
        var isStopping = false
        /// The last receiver of each connection that has had one: polls follow one another on a connection.
        var last: [ObjectIdentifier: StreamConsumer] = [:]

        mutating func removeAll(of key: SessionKey) -> [Pending] {
            defer { slots[key]?.pending = [:] }
            return slots[key].map { $0.pending.values.sorted { $0.id < $1.id } } ?? []
        }

        mutating func removeIfEmpty(_ key: SessionKey) {
            if let slot = slots[key], slot.consumer == nil, slot.pending.isEmpty { slots[key] = nil }
        }
    }

    private let state = Mutex(State())
    /// The memory that messages take until they are written.
    let memory: StreamMemory

    init(memory: StreamMemory = StreamMemory()) { self.memory = memory }

    /// How many connections there are.
    var count: Int { state.withLock { state in state.slots.values.count { $0.consumer != nil } } }

    /// How many attempts wait for an acknowledgement.
    var attemptsUnderWay: Int { state.withLock { state in state.slots.values.reduce(0) { $0 + $1.pending.count } } }

    // MARK: Attempts

    /// Brings a message to the connection of its session.
    func start(_ message: StreamMessage, to session: SessionKey, timeoutSeconds: Int, finish: @escaping Finish) {
        let now = ContinuousClock.now
        guard memory.take(message.envelope.count, for: session.application) else {
            _ = finish(Self.failure(.noSocket, "Messages that receivers do not read fill the memory.", since: now), nil)
            return
        }
        let (consumer, isStopping): (StreamConsumer?, Bool) = state.withLock { state in
            guard !state.isStopping, let consumer = state.slots[session]?.consumer else {
                return (nil, state.isStopping)
            }
            state.slots[session]?.pending[message.id] = Pending(
                id: message.id, attempt: message.attempt, consumer: consumer, startedAt: now,
                deadline: now + .seconds(timeoutSeconds), finish: finish)
            consumer.push(message)
            return (consumer, false)
        }
        guard let consumer else {
            memory.giveBack(message.envelope.count, of: session.application)
            // The engine of a daemon that ends still counts the receiver as connected, and would try at once.
            let kind: TransferFailure.Kind = isStopping ? .shuttingDown : .noConsumer
            _ = finish(Self.failure(kind, "The receiver is not connected.", since: now), nil)
            return
        }
        let (id, attempt) = (message.id, message.attempt)
        let timer = consumer.loop.scheduleTask(in: .seconds(Int64(timeoutSeconds))) { [weak self] in
            guard let self else { return }
            timeOut(id, attempt, of: session)
        }
        let isUnderWay = state.withLock { state in
            guard state.slots[session]?.pending[id]?.attempt == attempt else { return false }
            state.slots[session]?.pending[id]?.timer = timer
            return true
        }
        if !isUnderWay { timer.cancel() }
    }

    private func timeOut(_ id: String, _ attempt: Int, of session: SessionKey) {
        guard let pending = take(id, of: session, where: { $0.attempt == attempt }) else { return }
        let isUnwritten = pending.consumer.withdraw(id, attempt: pending.attempt)
        end(
            [pending], isUnwritten ? .noConsumer : .timedOut,
            isUnwritten ? "The receiver does not read." : "No acknowledgement has come in time.")
    }

    /// A receiver answers a delivery. Returns nil if no attempt of it is under way, and the engine's reply otherwise; the
    /// attempt goes on if that is a refusal.
    func settle(_ id: String, of session: SessionKey, with response: ReceivedResponse) async -> Reply? {
        guard let pending = take(id, of: session) else { return nil }
        let result = TransferResult(outcome: .response(response), metrics: Self.metrics(since: pending.startedAt))
        let reply: Reply = await withCheckedContinuation { continuation in
            let isTaken = pending.finish(result) { continuation.resume(returning: $0) }
            if !isTaken { continuation.resume(returning: .refused(.overloaded)) }
        }
        if case .refused = reply {
            putBack(pending, of: session)
        } else {
            pending.timer?.cancel()
            // The answer may be that to an earlier attempt: the message of this one is written no more. The next attempt may
            // have started already.
            _ = pending.consumer.withdraw(id, attempt: pending.attempt)
        }
        return reply
    }

    /// A delivery was settled without its attempt under way: its message is not written any more.
    func forget(_ id: String, of session: SessionKey) {
        guard let pending = take(id, of: session) else { return }
        pending.timer?.cancel()
        _ = pending.consumer.withdraw(id, attempt: pending.attempt)
        _ = pending.finish(.acknowledged, nil)
    }

    private func take(
        _ id: String, of session: SessionKey, where fits: (Pending) -> Bool = { _ in true }
    ) -> Pending? {
        state.withLock { state -> Pending? in
            guard let pending = state.slots[session]?.pending[id], fits(pending) else { return nil }
            state.slots[session]?.pending[id] = nil
            state.removeIfEmpty(session)
            return pending
        }
    }

    /// The outcome could not be committed: the attempt goes on, unless its time or its connection has ended meanwhile.
    private func putBack(_ pending: Pending, of session: SessionKey) {
        let kind: TransferFailure.Kind? = state.withLock { state in
            guard !state.isStopping, pending.goesOn(with: state.slots[session]?.consumer) else { return .streamEnded }
            guard pending.deadline > .now else { return .timedOut }
            state.slots[session, default: Slot()].pending[pending.id] = pending
            return nil
        }
        if let kind { end([pending], kind, "Its acknowledgement could not be kept.") }
    }

    // MARK: Connections

    /// Makes a connection that of its session; the one before it is told that it is superseded. The engine is to be told
    /// by `attachConsumer`.
    func attach(_ consumer: StreamConsumer, at now: Timestamp) -> Int64? {
        let key = consumer.session
        let (epoch, old, lost): (Int64?, StreamConsumer?, [Pending]) = state.withLock { state in
            guard !state.isStopping else { return (nil, nil, []) }
            state.lastEpoch = max(state.lastEpoch + 1, now.milliseconds)
            consumer.begin(state.lastEpoch)
            let old = state.slots[key]?.consumer
            state.slots[key, default: Slot()].consumer = consumer
            // The messages of a poll stay with its receiver, which polls again.
            let stays = consumer.isPoll && old?.isPoll ?? true
            return (state.lastEpoch, old, stays ? [] : state.removeAll(of: key))
        }
        end(lost, of: old, with: .superseded)
        return epoch
    }

    /// A connection has ended.
    func detach(_ consumer: StreamConsumer, tell: Tell) {
        let key = consumer.session
        let (isCurrent, lost): (Bool, [Pending]) = state.withLock { state in
            guard state.slots[key]?.consumer === consumer else { return (false, []) }
            state.slots[key]?.consumer = nil
            let lost = consumer.isPoll ? [] : state.removeAll(of: key)
            state.removeIfEmpty(key)
            return (true, lost)
        }
        // The engine hears of the end first, so that it does not try again at once.
        if isCurrent { tell(.detachConsumer(key, epoch: consumer.epoch)) }
        end(lost, of: consumer)
    }

    /// The client of a poll has gone, and cannot be written the messages that the poll has taken.
    func handBack(_ messages: [StreamMessage], of consumer: StreamConsumer) {
        let back = messages.compactMap { message in
            take(
                message.id, of: consumer.session, where: { $0.consumer === consumer && $0.attempt == message.attempt })
        }
        end(back, .noConsumer, "The connection ended before the message was written.")
    }

    /// Ends connections to sessions that are not reached by a stream any more. The engine knows.
    func cut(_ cuts: [ConnectionCut]) {
        for cut in cuts {
            let (consumer, lost): (StreamConsumer?, [Pending]) = state.withLock { state in
                guard let consumer = state.slots[cut.session]?.consumer, consumer.epoch <= cut.epoch else {
                    return (nil, [])
                }
                state.slots[cut.session]?.consumer = nil
                let lost = state.removeAll(of: cut.session)
                state.removeIfEmpty(cut.session)
                return (consumer, lost)
            }
            if let consumer { end(lost, of: consumer, with: .ended) }
        }
    }

    /// Ends the connection of a session that has gone to another device than that of its token: the person there is another one.
    func follow(_ session: SceneSession, tell: Tell) {
        let consumer = state.withLock { state in
            state.slots.isEmpty ? nil : state.slots[session.key]?.consumer
        }
        guard let consumer, let token = consumer.token, token.device != session.device else { return }
        detach(consumer, tell: tell)
    }

    /// Detaches a receiver when its connection closes. A connection has one callback, however many polls come over it.
    func watch(_ consumer: StreamConsumer, over channel: any Channel, tell: @escaping Tell) {
        let id = ObjectIdentifier(channel)
        let isFirst = state.withLock { $0.last.updateValue(consumer, forKey: id) == nil }
        guard isFirst else { return }
        channel.closeFuture.whenComplete { [weak self] _ in
            guard let self, let last = state.withLock({ $0.last.removeValue(forKey: id) }) else { return }
            detach(last, tell: tell)
        }
    }

    /// Ends all connections: the daemon is about to stop.
    func end() {
        let slots = state.withLock { state in
            state.isStopping = true
            defer { state.slots = [:] }
            return Array(state.slots.values)
        }
        for slot in slots { end(Array(slot.pending.values), of: slot.consumer) }
    }

    /// Ends a connection with its attempts. Messages that were not written are handed back: they have not arrived.
    ///
    /// - Parameter lost: The attempts that end with it; those of a poll stay, but for the messages that were not written.
    private func end(_ lost: [Pending], of consumer: StreamConsumer?, with closing: StreamConsumer.Closing? = nil) {
        let unwritten = Set(consumer?.end(closing).map(\.id) ?? [])
        var (back, lost) = (lost.filter { unwritten.contains($0.id) }, lost.filter { !unwritten.contains($0.id) })
        if let consumer {
            back += unwritten.subtracting(back.map(\.id)).sorted().compactMap { id in
                take(id, of: consumer.session, where: { $0.consumer === consumer })
            }
        }
        end(back, .noConsumer, "The connection ended before the message was written.")
        end(lost, .streamEnded, "The connection ended without an acknowledgement.")
    }

    private func end(_ attempts: [Pending], _ kind: TransferFailure.Kind, _ message: String) {
        for pending in attempts {
            pending.timer?.cancel()
            _ = pending.finish(Self.failure(kind, message, since: pending.startedAt), nil)
        }
    }

    private static func failure(
        _ kind: TransferFailure.Kind, _ message: String, since start: ContinuousClock.Instant
    ) -> TransferResult {
        TransferResult(outcome: .failure(TransferFailure(kind: kind, message: message)), metrics: metrics(since: start))
    }

    private static func metrics(since start: ContinuousClock.Instant) -> TransferMetrics {
        var metrics = TransferMetrics()
        metrics.total = Int64((ContinuousClock.now - start) / .microseconds(1))
        return metrics
    }
}
