import Router

/// The answers to one entry of the inbox; delivered together when the last one is known.
final class PendingAnswers {
    private var replies: [Reply]
    private var missing: Int
    private let answer: @Sendable ([Reply]) -> Void

    /// Nil if no client waits for the answers; an entry without commands is answered at once.
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

/// The clients whose commands are in the loop, by their tickets: a decision that takes many steps is answered some rounds
/// later.
struct WaitingClients {
    private var clients: [EngineLoop.Ticket: (answers: PendingAnswers, place: Int)] = [:]
    private var last = 0
    /// Waits for the clients that there were.
    private var barrier: (last: Int, left: Int, passed: CheckedContinuation<Void, Never>)?

    mutating func add(_ answers: PendingAnswers, _ place: Int) -> EngineLoop.Ticket {
        last += 1
        let ticket = EngineLoop.Ticket(last)
        clients[ticket] = (answers, place)
        return ticket
    }

    mutating func answer(_ ticket: EngineLoop.Ticket, _ reply: Reply) {
        guard let client = clients.removeValue(forKey: ticket) else { return }
        client.answers.fill(client.place, with: reply)
        guard let passed = barrier, ticket.number <= passed.last else { return }
        barrier?.left -= 1
        if passed.left == 1 {
            barrier = nil
            passed.passed.resume()
        }
    }

    /// Resumes when all clients that there are have been answered. There is one such wait at a time.
    mutating func whenAnswered(_ continuation: CheckedContinuation<Void, Never>) {
        if clients.isEmpty { return continuation.resume() }
        barrier = (last, clients.count, continuation)
    }
}
