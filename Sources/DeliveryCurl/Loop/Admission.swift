import DequeModule

/// Which request may run next: a queue before a fixed number of slots. Decides only; the loop acts.
///
///     submit ──> waiting ──next()──> running in slot n ──release(n)──> gone
///        │          │
///        └─ refused └─ stopped: drain() hands all back
///
/// Invariant: `running + freeSlots.count == slots`; nothing waits longer than a slot is free and `next()` is asked.
struct Admission<Item> {
    private var waiting: Deque<Item> = []
    private var freeSlots: [Int]
    private let slots: Int
    private let waitingLimit: Int

    init(slots: Int, waitingLimit: Int) {
        self.slots = slots
        self.waitingLimit = waitingLimit
        // The lowest number is on top: few requests use few slots, whose handles stay warm.
        freeSlots = Array((0..<slots).reversed())
    }

    var running: Int { slots - freeSlots.count }
    var canStart: Bool { !waiting.isEmpty && !freeSlots.isEmpty }

    /// Takes the item, or refuses it because the queue is full. An item that could start at once does not count as
    /// waiting.
    mutating func submit(_ item: Item) -> Bool {
        guard waiting.count < waitingLimit + freeSlots.count else { return false }
        waiting.append(item)
        return true
    }

    /// The item that starts now, and its slot.
    mutating func next() -> (slot: Int, item: Item)? {
        guard canStart, let item = waiting.popFirst(), let slot = freeSlots.popLast() else { return nil }
        return (slot, item)
    }

    /// The slot's transfer is over.
    mutating func release(_ slot: Int) {
        precondition(freeSlots.count < slots, "slot \(slot) was released though none of \(slots) is in use")
        freeSlots.append(slot)
    }

    /// Takes all that wait, in order.
    mutating func drain() -> [Item] {
        let all = Array(waiting)
        waiting.removeAll()
        return all
    }

    /// Takes the first waiting item that fits.
    mutating func remove(where isWanted: (Item) -> Bool) -> Item? {
        guard let index = waiting.firstIndex(where: isWanted) else { return nil }
        return waiting.remove(at: index)
    }
}
