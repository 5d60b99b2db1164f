import Dispatch
package import Router
import RouterPlugin

extension EngineHost {
    /// Resumes the work that recovery found; call once, before the first command.
    package func start() {
        loop.takeUpRecovery()
        drain()
    }

    /// Submits commands; returns when all of them have been committed or refused. Nil if the inbox is full.
    package nonisolated func submit(_ commands: [Command]) async -> [Reply]? {
        await withCheckedContinuation { continuation in
            let taken = offer(Inbox.Entry(commands: commands) { continuation.resume(returning: $0) })
            if !taken { continuation.resume(returning: nil) }
        }
    }

    /// Submits a command and returns at once.
    ///
    /// - Parameter answer: Called on the engine's queue when the command has been committed or refused.
    /// - Returns: False if the inbox is full; `answer` is not called then.
    package nonisolated func submit(_ command: Command, answer: @escaping @Sendable (Reply) -> Void) -> Bool {
        offer(Inbox.Entry(commands: [command]) { replies in answer(replies.first ?? .none) })
    }

    /// Commits the outcome of an attempt; false if a client waits for the answer, and there is no room for its command.
    nonisolated func finish(
        _ attempt: FinishedAttempt, of tenant: ApplicationID, answer: (@Sendable (Reply) -> Void)?
    ) -> Bool {
        let answerAll = answer.map { answer in { @Sendable (replies: [Reply]) in answer(replies.first ?? .none) } }
        return offer(Inbox.Entry(commands: [.attemptFinished(attempt)], tenant: tenant, answer: answerAll))
    }

    @discardableResult
    nonisolated func offer(_ entry: Inbox.Entry) -> Bool {
        desk.offer(entry, to: self)
    }

    /// Puts commands into the inbox whose remote rules have been asked, or that have none.
    @discardableResult
    nonisolated func insert(_ entry: Inbox.Entry, isAdmitted: Bool = false) -> Bool {
        let offered = inbox.offer(entry, isAdmitted: isAdmitted)
        if offered == .takenWakeOwner { executor.queue.async { self.assumeIsolated { $0.drain() } } }
        return offered != .full
    }

    /// Starts no more attempts and no other work of the engine's own: see ``EngineLoop/drain()``.
    package func stopStarting() { loop.drain() }

    /// Returns when the outcomes of all attempts have been committed, or could not be committed: those attempts are
    /// then made again after the next start.
    package func drained() async {
        guard loop.attemptsUnderWay > 0 else { return }
        await withCheckedContinuation { whenIdle = $0 }
    }
}
