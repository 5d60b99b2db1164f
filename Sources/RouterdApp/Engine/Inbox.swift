import DequeModule
import Router
import RouterPlugin
import Synchronization

/// The queue of commands for the engine: filled from any thread, emptied by the engine's owner.
///
/// Each tenant has a line. Lines have turns: a command waits for those before it in its line and for a turn of each other
/// line, however much waits in them. Commands of operators, which belong to no tenant, have a line of their own. The commands of a
/// line stay in their order: a connection that ends, and the outcomes of its attempts, come as they happened.
final class Inbox: Sendable {
    /// Commands that were submitted together; they are answered together.
    struct Entry: Sendable {
        let commands: [Command]
        let tenant: ApplicationID?
        /// Nil if no client waits for the answers.
        let answer: (@Sendable ([Reply]) -> Void)?
        /// How much of a turn it takes: an ordinary notification takes one.
        fileprivate let weight: Int

        /// - Parameter tenant: The tenant, if the commands do not say it.
        init(commands: [Command], tenant: ApplicationID? = nil, answer: (@Sendable ([Reply]) -> Void)?) {
            self.commands = commands
            self.tenant = tenant ?? commands.first?.tenant
            self.answer = answer
            weight = max(1, commands.reduce(0) { $0 + $1.weight })
        }
    }

    /// The result of offering an entry.
    enum Offered {
        /// Accepted; the owner of the inbox is asleep and has to be woken.
        case takenWakeOwner
        case taken
        /// The inbox holds too many commands already.
        case full
    }

    /// The entries of one tenant.
    private struct Line {
        var entries: Deque<Entry> = []
        var commands = 0
        /// The weight that it may still give in this turn. An entry that is heavier than the rest is given whole, and the line
        /// does without its next turns until they have paid for it.
        var credit = 0

        /// Adds an entry; returns whether it is the first one.
        mutating func append(_ entry: Entry) -> Bool {
            entries.append(entry)
            commands += entry.commands.count
            return entries.count == 1
        }
    }

    private struct State {
        /// The lines with entries. Nil is the one of commands without a tenant.
        var lines: [ApplicationID?: Line] = [:]
        var turns: Deque<ApplicationID?> = []
        var commands = 0
        var ownerIsAwake = false

        /// Whether there is room for commands of a tenant. A full inbox has room for a tenant with less than its share of
        /// the limit, up to twice the limit altogether.
        func hasRoom(for count: Int, of tenant: ApplicationID?, limit: Int) -> Bool {
            if commands == 0 || commands + count <= limit { return true }
            let line = lines[tenant]
            let tenants = lines.count + (line == nil ? 1 : 0)
            return (line?.commands ?? 0) + count <= limit / tenants && commands + count <= 2 * limit
        }

        mutating func append(_ entry: Entry, to tenant: ApplicationID?) {
            commands += entry.commands.count
            if lines[tenant, default: Line()].append(entry) { turns.append(tenant) }
        }

        /// Takes the entries of the next turn; returns their weight.
        mutating func takeTurn(into taken: inout [Entry]) -> Int {
            guard let tenant = turns.popFirst(), var line = lines.removeValue(forKey: tenant) else { return 0 }
            line.credit += DaemonLimits.commandsPerTurn
            let before = line.credit
            while line.credit > 0, let entry = line.entries.popFirst() {
                line.credit -= entry.weight
                line.commands -= entry.commands.count
                commands -= entry.commands.count
                taken.append(entry)
            }
            if !line.entries.isEmpty {
                lines[tenant] = line
                turns.append(tenant)
            }
            return before - line.credit
        }
    }

    private let state = Mutex(State())
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    /// Adds an entry to the line of its tenant. An entry without an answer is always accepted: it is work that the engine has
    /// scheduled for itself.
    ///
    /// - Parameter isAdmitted: Whether the entry was counted elsewhere, and is taken beyond the limit.
    func offer(_ entry: Entry, isAdmitted: Bool = false) -> Offered {
        state.withLock { state in
            guard
                entry.answer == nil || isAdmitted
                    || state.hasRoom(for: entry.commands.count, of: entry.tenant, limit: limit)
            else { return .full }
            state.append(entry, to: entry.tenant)
            defer { state.ownerIsAwake = true }
            return state.ownerIsAwake ? .taken : .takenWakeOwner
        }
    }

    /// Takes entries, turn by turn, until their weight is `wanted`. If there are none the owner counts as asleep, and the next
    /// offer reports that it has to be woken.
    ///
    /// - Parameter shared: As `wanted`, when several tenants have entries: each waits for the turns of all.
    func take(commands wanted: Int, shared: Int) -> [Entry] {
        state.withLock { state in
            let most = state.turns.count > 1 ? shared : wanted
            var taken: [Entry] = []
            // A heavy entry at the front does not take the turns of others in this round.
            var (weight, turns) = (0, min(state.turns.count, most / DaemonLimits.commandsPerTurn))
            while weight < most || turns > 0, !state.turns.isEmpty {
                weight += state.takeTurn(into: &taken)
                turns -= 1
            }
            if taken.isEmpty { state.ownerIsAwake = false }
            return taken
        }
    }
}
