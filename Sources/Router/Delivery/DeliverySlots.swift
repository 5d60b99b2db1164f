package import RouterPlugin

/// How much may be under way at once, in all and of what has to share.
package struct DeliveryCaps: Hashable, Sendable {
    /// Attempts in all.
    package var slots: Int
    /// Attempts at one origin: scheme, host and port.
    package var perOrigin: Int
    /// Attempts at endpoints that are slow: however many hang, the others have the rest.
    package var slow: Int

    /// - Parameters:
    ///   - perOrigin: A quarter of all, and 8 at least, unless it is said.
    ///   - slow: An eighth of all, and 1 at least, unless it is said.
    package init(slots: Int = 256, perOrigin: Int? = nil, slow: Int? = nil) {
        self.slots = slots
        self.perOrigin = min(slots, perOrigin ?? max(8, slots / 4))
        self.slow = min(slots, slow ?? max(1, slots / 8))
    }

    /// Slots that only a class may use: an eighth for what is urgent, a sixteenth each for the others. What is left is
    /// for all.
    package func reserved(for urgency: Priority) -> Int { urgency == .high ? slots / 8 : slots / 16 }
}

/// Which classes of priority may start an attempt.
///
/// Each class has slots of its own, and borrows from the common ones when they are in use. So nothing urgent waits for a
/// crowd of what is not, and what is not urgent goes on, however much else there is.
package struct DeliverySlots: Sendable {
    private let caps: DeliveryCaps
    private let common: Int
    /// By the rank of the class; the fourth is none.
    private var inUse = SIMD4<Int>.zero

    package init(_ caps: DeliveryCaps) {
        self.caps = caps
        common = caps.slots - Priority.ranked.reduce(0) { $0 + caps.reserved(for: $1) }
    }

    /// Attempts that are under way.
    package var total: Int { inUse.wrappedSum() }

    /// Attempts of a class that are under way.
    package func inUse(by urgency: Priority) -> Int { inUse[urgency.rank] }

    package func admits(_ urgency: Priority) -> Bool { free(for: urgency) > 0 }

    /// How many attempts of a class may start, as things stand.
    package func free(for urgency: Priority) -> Int {
        let borrowed = Priority.ranked.reduce(0) { $0 + max(0, inUse[$1.rank] - caps.reserved(for: $1)) }
        return max(0, caps.reserved(for: urgency) - inUse[urgency.rank]) + max(0, common - borrowed)
    }

    mutating func take(_ urgency: Priority) { inUse[urgency.rank] += 1 }
    mutating func giveBack(_ urgency: Priority) { inUse[urgency.rank] -= 1 }
}
