package import RouterPlugin

/// What a command comes to: changes to commit, and the answer to give when they are.
///
/// Planning changes nothing but counters. A plan takes effect in two steps: its changes are committed to the store, and
/// then the very same changes are applied to memory. If the commit fails, memory is as it was, and so is the store.
package struct Plan: Sendable {
    package var changes: [StoreChange]
    package var reply: Reply
    /// What the plan relies on: an earlier plan of the same transaction must not have changed it.
    package var reads: [PlanKey]
    /// What the plan changes.
    package var writes: [PlanKey]

    package init(changes: [StoreChange] = [], reply: Reply = .none, reads: [PlanKey] = [], writes: [PlanKey] = []) {
        self.changes = changes
        self.reply = reply
        self.reads = reads
        self.writes = writes
    }

    /// A plan that changes nothing.
    package static func refused(_ refusal: Refusal) -> Plan { Plan(reply: .refused(refusal)) }
}

/// Something that plans of one transaction may disagree about.
///
/// Choosing reads the registry, which sessions change; this is left out on purpose. Neither the notification nor the
/// session's change has been answered yet, so either order is a true one, and neither has to wait for the other.
package enum PlanKey: Hashable, Sendable {
    case application(ApplicationID)
    case source(SourceID)
    /// Which resources belong to sets.
    case resourceSets
    /// Which sources there are.
    case sources
    case session(SessionKey)
    /// A gate, and which sessions are connected at it.
    ///
    /// Who only asks whether it is open leaves it out, like who chooses: what stands in a lane waits there too.
    case gate(GateKey)
    /// Which gates of the application are not as they were: who says something else of gates looks at all of them.
    case gates(ApplicationID)
    /// Which sessions the application has.
    case sessions(ApplicationID)
    /// Whether the application is about to get a session that the router makes.
    case newSession(ApplicationID)
    /// Which notifications the application has.
    case notifications(ApplicationID)
    case dedupe(DedupeKey)
    /// Which notification is the newest under the key.
    case collapse(CollapseKey)
    case delivery(NotificationSequence)
    /// Which replays there are, and how far they have come.
    case replays
    /// What the application's delegate is to be told of sessions that are gone.
    case discards(ApplicationID)
}

/// The plans that share one transaction.
package struct Batch: Sendable {
    package private(set) var plans: [Plan] = []
    private var written: Set<PlanKey> = []

    package init() {}

    package var isEmpty: Bool { plans.isEmpty }
    package var changes: [StoreChange] { plans.flatMap(\.changes) }

    /// Whether the plan was made without knowledge of something that the batch changes.
    package func conflicts(with plan: Plan) -> Bool {
        !written.isEmpty && plan.reads.contains(where: written.contains)
    }

    package mutating func append(_ plan: Plan) {
        plans.append(plan)
        written.formUnion(plan.writes)
    }
}
