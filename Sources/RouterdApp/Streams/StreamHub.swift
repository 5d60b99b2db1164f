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
        let message: StreamMessage
        /// The number of the connection that has it.
        let epoch: Int64
        let startedAt: ContinuousClock.Instant
        let deadline: ContinuousClock.Instant
        let finish: Finish
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
            return slots[key].map { $0.pending.values.sorted { $0.message.id < $1.message.id } } ?? []
        }

        mutating func removeIfEmpty(_ key: SessionKey) {
            if let slot = slots[key], slot.consumer == nil, slot.pending.isEmpty { slots[key] = nil }
        }
    }

    private let state = Mutex(State())

    init() {}

    /// How many connections there are.
    var count: Int { state.withLock { state in state.slots.values.count { $0.consumer != nil } } }

    // MARK: Attempts

    /// Brings a message to the connection of its session.
    func start(_ message: StreamMessage, to session: SessionKey, timeoutSeconds: Int, finish: @escaping Finish) {
        let now = ContinuousClock.now
        let consumer: StreamConsumer? = state.withLock { state in
            guard !state.isStopping, let consumer = state.slots[session]?.consumer else { return nil }
            state.slots[session]?.pending[message.id] = Pending(
                message: message, epoch: consumer.epoch, startedAt: now, deadline: now + .seconds(timeoutSeconds),
                finish: finish)
            consumer.push(message)
            return consumer
        }
        guard let consumer else {
            _ = finish(Self.failure(.noConsumer, "The receiver is not connected.", since: now), nil)
            return
        }
        consumer.loop.scheduleTask(in: .seconds(Int64(timeoutSeconds))) { [weak self] in
            self?.timeOut(message, of: session)
        }
    }

    private func timeOut(_ message: StreamMessage, of session: SessionKey) {
        guard let pending = take(message.id, of: session, where: { $0.message.attempt == message.attempt }) else {
            return
        }
        _ = state.withLock { $0.slots[session]?.consumer }?.withdraw(message.id)
        _ = pending.finish(
            Self.failure(.timedOut, "No acknowledgement has come in time.", since: pending.startedAt), nil)
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
        if case .refused = reply { putBack(pending, of: session) }
        return reply
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
        let isOver = state.withLock { state in
            let consumer = state.slots[session]?.consumer
            guard pending.deadline > .now, consumer?.epoch == pending.epoch else { return true }
            state.slots[session]?.pending[pending.message.id] = pending
            return false
        }
        guard isOver else { return }
        _ = pending.finish(
            Self.failure(.timedOut, "Its acknowledgement could not be kept.", since: pending.startedAt), nil)
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
            let lost = stays ? [] : state.removeAll(of: key)
            return (state.lastEpoch, old, lost)
        }
        end(lost, of: old)
        old?.supersede()
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
        guard isCurrent else { return consumer.end() }
        tell(.detachConsumer(key, epoch: consumer.epoch))
        end(lost, of: consumer)
        consumer.end()
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
        for slot in slots {
            end(Array(slot.pending.values), of: slot.consumer)
            slot.consumer?.end()
        }
    }

    private func end(_ lost: [Pending], of consumer: StreamConsumer?) {
        for pending in lost {
            let isUnwritten = consumer?.withdraw(pending.message.id) ?? false
            let kind: TransferFailure.Kind = isUnwritten ? .noConsumer : .streamEnded
            let message = "The connection ended without an acknowledgement."
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
