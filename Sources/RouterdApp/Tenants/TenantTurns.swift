import DequeModule
package import RouterPlugin

/// The order in which tenants use a bounded number of slots, such as readers of the store or threads that hash passcodes.
///
///     slots: 4 ─┬─ tenant A: at most 2 at a time ── its line
///               └─ tenant B: at most 2 at a time ── its line
///
/// A tenant has at most its share of the slots, so that work of one tenant that takes long leaves slots to the others. A
/// freed slot goes to the next tenant in turn that has work waiting. The operator's work, which names no tenant, has a line
/// of its own.
package struct TenantTurns<Work> {
    /// The answer to work that asks for a slot.
    package enum Answer: Equatable, Sendable {
        case begin
        case wait
        /// The tenant has as much work waiting as it may have.
        case refused
    }

    private let slots: Int
    private let share: Int
    private let waitingLimit: Int
    private var begun: [ApplicationID?: Int] = [:]
    private var total = 0
    private var lines: [ApplicationID?: Deque<Work>] = [:]
    /// Tenants whose lines are not empty, in the order of their turns.
    private var turns: Deque<ApplicationID?> = []

    /// - Parameters:
    ///   - slots: The number of slots.
    ///   - share: The greatest number of slots that a tenant has at a time.
    ///   - waitingLimit: The greatest number of a tenant's pieces of work that wait.
    package init(slots: Int, share: Int, waitingLimit: Int) {
        self.slots = slots
        self.share = share
        self.waitingLimit = waitingLimit
    }

    /// Asks for a slot. Work that waits is returned by `finished` when its turn has come.
    package mutating func ask(_ tenant: ApplicationID?, _ work: Work) -> Answer {
        if total < slots, begun[tenant, default: 0] < share {
            begin(tenant)
            return .begin
        }
        guard lines[tenant]?.count ?? 0 < waitingLimit else { return .refused }
        if lines[tenant] == nil { turns.append(tenant) }
        lines[tenant, default: []].append(work)
        return .wait
    }

    /// Gives the slot of finished work back; returns the work that takes it.
    package mutating func finished(_ tenant: ApplicationID?) -> Work? {
        total -= 1
        begun[tenant, default: 1] -= 1
        if begun[tenant] == 0 { begun[tenant] = nil }
        guard let place = turns.firstIndex(where: { begun[$0, default: 0] < share }) else { return nil }
        let next = turns.remove(at: place)
        let work = lines[next]?.popFirst()
        if lines[next]?.isEmpty == true { lines[next] = nil } else { turns.append(next) }
        begin(next)
        return work
    }

    private mutating func begin(_ tenant: ApplicationID?) {
        total += 1
        begun[tenant, default: 0] += 1
    }
}
