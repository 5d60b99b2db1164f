package import RouterPlugin

/// The number of attempts that may be under way at once, in all and for each shared resource; and how long a receiver
/// that connects out may be away.
package struct DeliveryCaps: Hashable, Sendable {
    /// Attempts in all, but for those over streams.
    package var slots: Int
    /// Attempts at one origin: scheme, host and port.
    package var perOrigin: Int
    /// Attempts at slow endpoints: however many hang, the others have the rest.
    package var slow: Int
    /// Attempts over streams.
    package var streams = RouterLimits.streamSlots
    /// The time for which a session counts as connected without a connection to its stream, in seconds.
    package var presenceSeconds = RouterLimits.presenceSeconds

    /// - Parameters:
    ///   - perOrigin: By default a quarter of all, and at least 8.
    ///   - slow: By default an eighth of all, and at least 1.
    package init(slots: Int = 256, perOrigin: Int? = nil, slow: Int? = nil) {
        self.slots = slots
        self.perOrigin = min(slots, perOrigin ?? max(8, slots / 4))
        self.slow = min(slots, slow ?? max(1, slots / 8))
    }

    /// Slots that only one class may use: an eighth of all for the urgent class, a sixteenth each for the others. The
    /// rest is common to all classes.
    package func reserved(for urgency: Priority) -> Int { urgency == .high ? slots / 8 : slots / 16 }
}

/// The slots of attempts, by class of priority.
///
/// Each class has slots of its own, and borrows from the common ones when these are in use. So urgent deliveries do not
/// wait for a crowd of others, and the others go on, however many urgent ones there are.
package struct DeliverySlots: Sendable {
    private let caps: DeliveryCaps
    private let common: Int
    /// By the rank of the class; the fourth is none. No vector (swiftlang/swift#91639, until 6.4).
    private var inUse = InlineArray<4, Int>(repeating: 0)

    package init(_ caps: DeliveryCaps) {
        self.caps = caps
        common = caps.slots - Priority.ranked.reduce(0) { $0 + caps.reserved(for: $1) }
    }

    /// Attempts that are under way.
    package var total: Int { inUse[0] + inUse[1] + inUse[2] }

    /// Attempts of a class that are under way.
    package func inUse(by urgency: Priority) -> Int { inUse[urgency.rank] }

    package func admits(_ urgency: Priority) -> Bool { free(for: urgency) > 0 }

    /// The number of attempts of a class that may start now.
    package func free(for urgency: Priority) -> Int {
        let borrowed = Priority.ranked.reduce(0) { $0 + max(0, inUse[$1.rank] - caps.reserved(for: $1)) }
        return max(0, caps.reserved(for: urgency) - inUse[urgency.rank]) + max(0, common - borrowed)
    }

    mutating func take(_ urgency: Priority) { inUse[urgency.rank] += 1 }
    mutating func giveBack(_ urgency: Priority) { inUse[urgency.rank] -= 1 }
}
