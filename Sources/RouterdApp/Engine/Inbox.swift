import DequeModule
import Router
import Synchronization

/// Where commands wait for the engine: filled from any thread, emptied by the engine's owner.
final class Inbox: Sendable {
    /// Commands that came together; they are answered together.
    struct Entry: Sendable {
        let commands: [Command]
        /// Nil if nobody waits for the answers.
        let answer: (@Sendable ([Reply]) -> Void)?
    }

    /// What came of offering an entry.
    enum Offered {
        /// Taken; whoever empties the inbox is not at work and has to be called.
        case takenWakeOwner
        case taken
        /// There are too many commands already.
        case full
    }

    private struct State {
        var entries: Deque<Entry> = []
        var commands = 0
        var ownerIsAwake = false
    }

    private let state = Mutex(State())
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    /// Adds an entry. Those that nobody waits for are always taken: they are what the engine has set itself to do.
    func offer(_ entry: Entry) -> Offered {
        state.withLock { state in
            if entry.answer != nil, state.commands + entry.commands.count > limit, state.commands > 0 { return .full }
            state.entries.append(entry)
            state.commands += entry.commands.count
            defer { state.ownerIsAwake = true }
            return state.ownerIsAwake ? .taken : .takenWakeOwner
        }
    }

    /// Takes the first entries, until there are that many commands; with nothing there the owner counts as asleep, and
    /// the next offer says to wake it.
    func take(commands wanted: Int) -> [Entry] {
        state.withLock { state in
            var taken: [Entry] = []
            var commands = 0
            while commands < wanted, let entry = state.entries.popFirst() {
                commands += max(1, entry.commands.count)
                state.commands -= entry.commands.count
                taken.append(entry)
            }
            if taken.isEmpty { state.ownerIsAwake = false }
            return taken
        }
    }
}
