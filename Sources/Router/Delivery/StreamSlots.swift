import RouterPlugin

/// The slots of attempts over streams, and the turns of the lanes that want one.
///
/// Such an attempt uses no request, no socket and no thread of the daemon: it is an entry in a table until the receiver
/// answers, which may take all of its time. So it takes none of the slots of webhooks, belongs to no origin and is not
/// slow. Classes have parts of these slots, and an application leaves some to others, as with webhooks.
struct StreamSlots: Sendable {
    private(set) var slots: DeliverySlots
    var turns = FairTurns()
    private var shares: [ApplicationID: Int] = [:]

    init(_ count: Int) { slots = DeliverySlots(DeliveryCaps(slots: count)) }

    /// Whether the application leaves enough slots to others.
    func hasShare(_ application: ApplicationID, _ urgency: Priority) -> Bool {
        shares[application] ?? 0 < RouterLimits.attemptsPerFreeSlot * slots.free(for: urgency)
    }

    mutating func take(_ application: ApplicationID, _ urgency: Priority) {
        slots.take(urgency)
        shares[application, default: 0] += 1
    }

    mutating func giveBack(_ application: ApplicationID, _ urgency: Priority) {
        slots.giveBack(urgency)
        let rest = (shares[application] ?? 1) - 1
        shares[application] = rest == 0 ? nil : rest
    }
}
