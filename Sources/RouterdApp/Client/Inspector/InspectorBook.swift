import DequeModule
package import RouterPlugin

/// The webhooks that a receiver shows on its page, and the answers to the next ones.
///
///     oldest ─ … ─ newest      at most `mostWebhooks`, with at most `mostBytes` of bodies; the oldest are forgotten
///
/// Each change of an entry has a number, greater than all before: a page asks for the entries that have changed since the last
/// number that it knows.
package struct InspectorBook: Sendable {
    /// A webhook and its answer.
    package struct Entry: Sendable {
        package let number: Int
        package let received: ReceiverApp.Received
        package let answer: WebhookAnswer
        /// When the answer was sent; nil while it is delayed.
        package fileprivate(set) var answeredAt: Timestamp?
        /// The number of the last change of the entry.
        package fileprivate(set) var change: Int
    }

    /// The answers to the next webhooks.
    package struct Plan: Hashable, Sendable {
        package var answer: WebhookAnswer
        /// The number of webhooks that are answered so; nil for all.
        package var times: Int?

        package init(answer: WebhookAnswer, times: Int? = nil) {
            self.answer = answer
            self.times = times
        }
    }

    private let usual: WebhookAnswer
    private let mostWebhooks: Int
    private let mostBytes: Int
    package private(set) var plan: Plan
    private var entries: Deque<Entry> = []
    private var bytes = 0
    /// The number of webhooks received.
    package private(set) var count = 0
    /// The number of the last change.
    package private(set) var change = 0

    /// - Parameter usual: The answer when no other is planned, or when a plan has come to its end.
    package init(
        usual: WebhookAnswer, mostWebhooks: Int = DaemonLimits.inspectedWebhooks,
        mostBytes: Int = DaemonLimits.inspectedBytes
    ) {
        self.usual = usual
        self.mostWebhooks = mostWebhooks
        self.mostBytes = mostBytes
        plan = Plan(answer: usual)
    }

    /// Notes a webhook; returns its number and its answer.
    package mutating func take(_ received: ReceiverApp.Received) -> (number: Int, answer: WebhookAnswer) {
        let answer = nextAnswer(isSigned: received.verifiedBy?.isEmpty != true)
        count += 1
        change += 1
        entries.append(Entry(number: count, received: received, answer: answer, change: change))
        bytes += received.body.count
        while entries.count > mostWebhooks || bytes > mostBytes, let oldest = entries.popFirst() {
            bytes -= oldest.received.body.count
        }
        return (count, answer)
    }

    private mutating func nextAnswer(isSigned: Bool) -> WebhookAnswer {
        guard isSigned else { return .unauthorized }
        let answer = plan.answer
        if let times = plan.times { plan = times > 1 ? Plan(answer: answer, times: times - 1) : Plan(answer: usual) }
        return answer
    }

    /// Notes that the answer to a webhook was sent.
    package mutating func answered(_ number: Int, at time: Timestamp) {
        guard let place = place(of: number) else { return }
        change += 1
        entries[place].answeredAt = time
        entries[place].change = change
    }

    /// Answers the next webhooks as planned.
    package mutating func answer(by plan: Plan) { self.plan = plan }

    /// Forgets all webhooks; the count goes on.
    package mutating func forget() {
        change += 1
        entries.removeAll()
        bytes = 0
    }

    package func entry(_ number: Int) -> Entry? { place(of: number).map { entries[$0] } }

    /// The number of the oldest webhook that is kept, or that the next one will have.
    package var oldest: Int { entries.first?.number ?? count + 1 }

    /// The entries that have changed after a change, the oldest first.
    package func changed(since change: Int) -> [Entry] { entries.filter { $0.change > change } }

    /// Numbers have no gaps.
    private func place(of number: Int) -> Int? {
        guard let first = entries.first?.number, number >= first, number - first < entries.count else { return nil }
        return number - first
    }
}
