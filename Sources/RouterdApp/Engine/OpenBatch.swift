import Router

/// A batch with those who wait for it.
struct OpenBatch {
    struct Item {
        let command: Command
        let ticket: Ticket?
        let place: Int
    }

    private(set) var batch = Batch()
    private(set) var items: [Item] = []

    mutating func append(_ command: Command, _ plan: Plan, _ ticket: Ticket?, _ place: Int) {
        batch.append(plan)
        items.append(Item(command: command, ticket: ticket, place: place))
    }
}

/// The answers that one entry waits for; gives them all when the last one is there.
final class Ticket {
    private var replies: [Reply]
    private var missing: Int
    private let answer: @Sendable ([Reply]) -> Void

    init?(count: Int, answer: (@Sendable ([Reply]) -> Void)?) {
        guard let answer else { return nil }
        self.answer = answer
        replies = Array(repeating: .none, count: count)
        missing = count
        if count == 0 { answer([]) }
    }

    func fill(_ place: Int, with reply: Reply) {
        replies[place] = reply
        missing -= 1
        if missing == 0 { answer(replies) }
    }
}
