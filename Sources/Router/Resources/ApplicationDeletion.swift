import RouterPlugin

/// An application that is deleted in many transactions, because much belongs to it.
///
///     deleteApplication ──▶ little: one transaction
///                       └─▶ much:   begun ──▶ notifications end, a step a transaction
///                                         ──▶ rows are swept, a step a transaction ──▶ deleted
///
/// From the beginning on there is no such application: nothing is accepted for it, sent for it or read of it. Its name is
/// taken until the deletion is complete, so that the next application of that name has nothing to do with it. A process that
/// ends in between goes on after its next start.
package struct ApplicationDeletion: Sendable {
    package let application: Application
    /// Notifications that waited for a time or a gate, and have not ended yet.
    package private(set) var held: [NotificationSequence: UnsettledNotification]
    /// The keys of `held`, and of some that have ended, in descending order.
    private var order: [NotificationSequence]
    /// The lanes that may have deliveries to end, in descending order of their sessions.
    private var lanes: [SessionKey]

    init(of application: Application, held: [NotificationSequence: UnsettledNotification] = [:]) {
        self.application = application
        self.held = held
        (order, lanes) = ([], [])
    }

    // MARK: Planning

    /// Ends the next notifications; an attempt under way is the last one of its notification.
    ///
    /// - Parameter limit: How many notifications end at most.
    func endNotifications(limit: Int, _ view: LaneView, in plan: inout PlanDraft) {
        for notification in order.reversed().lazy.compactMap({ held[$0] }).prefix(limit) {
            plan.recall(notification, as: .applicationDeleted, isInFlight: false)
        }
        for key in lanes.reversed() where plan.changes.count < limit {
            for delivery in view[key]?.uncalled(limit: limit - plan.changes.count) ?? [] {
                plan.recall(
                    delivery.notification, as: .applicationDeleted, isInFlight: !delivery.machine.isWaiting)
            }
        }
    }

    // MARK: Applying

    /// Takes up a held notification that recovery has found; `arrange` follows.
    mutating func hold(_ notification: UnsettledNotification) { held[notification.sequence] = notification }

    /// Puts all that is to end in order.
    ///
    /// - Parameter lanes: The lanes of the application.
    mutating func arrange(_ lanes: [SessionKey]) {
        order = held.keys.sorted(by: >)
        self.lanes = lanes.sorted(by: >)
    }

    mutating func release(_ sequence: NotificationSequence) -> UnsettledNotification? {
        defer { while let last = order.last, held[last] == nil { order.removeLast() } }
        return held.removeValue(forKey: sequence)
    }

    /// Looks at a lane again: a delivery of it waits that was under way.
    mutating func look(at key: SessionKey) {
        guard !lanes.contains(key) else { return }
        lanes.insert(key, at: lanes.firstIndex { $0 < key } ?? lanes.endIndex)
    }

    /// Leaves out the lanes whose deliveries have ended.
    mutating func pass(_ table: LaneTable) {
        while let last = lanes.last, table.read(last, { $0.hasUncalled }) != true { lanes.removeLast() }
    }
}

extension Lane {
    /// At most `limit` deliveries that wait, or whose attempt under way is not the last one yet; first ones first.
    fileprivate func uncalled(limit: Int) -> [QueuedDelivery] {
        Array(queue.lazy.filter(\.isUncalled).prefix(limit))
    }

    fileprivate var hasUncalled: Bool {
        queue.indices.contains { queue.read(at: $0) { $0.isUncalled } }
    }
}

extension QueuedDelivery {
    fileprivate var isUncalled: Bool { machine.isWaiting || notification.recall == nil }
}
