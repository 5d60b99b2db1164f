import DequeModule
import Router
import Synchronization

/// The queue of commands for the engine: filled from any thread, emptied by the engine's owner.
final class Inbox: Sendable {
    /// Commands that were submitted together; they are answered together.
    struct Entry: Sendable {
        let commands: [Command]
        /// Nil if no client waits for the answers.
        let answer: (@Sendable ([Reply]) -> Void)?
    }

    /// The result of offering an entry.
    enum Offered {
        /// Accepted; the owner of the inbox is asleep and has to be woken.
        case takenWakeOwner
        case taken
        /// The inbox holds too many commands already.
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

    /// Adds an entry. An entry without an answer is always accepted: it is work that the engine has scheduled for
    /// itself.
    ///
    /// - Parameter isAdmitted: Whether the entry was counted elsewhere, and is taken beyond the limit.
    func offer(_ entry: Entry, isAdmitted: Bool = false) -> Offered {
        state.withLock { state in
            if entry.answer != nil, !isAdmitted, state.commands + entry.commands.count > limit, state.commands > 0 {
                return .full
            }
            state.entries.append(entry)
            state.commands += entry.commands.count
            defer { state.ownerIsAwake = true }
            return state.ownerIsAwake ? .taken : .takenWakeOwner
        }
    }

    /// Takes entries from the front until they hold `wanted` commands. If there are none the owner counts as asleep,
    /// and the next offer reports that it has to be woken.
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
