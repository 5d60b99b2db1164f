package import RouterPlugin

/// The result of planning a command: changes to commit, and the answer to give once they are committed.
///
/// Planning changes nothing but ids that are used up, timers that ring again, the state of retention and, when an operator
/// resumes a lane, its breaker; none of these is in the store. A plan takes effect in two steps: its changes are committed to the store, and
/// then the very same changes are applied to memory. If the commit fails, memory is as it was, and so is the store.
package struct Plan: Sendable {
    package var changes: [StoreChange]
    package var reply: Reply
    /// Keys that the plan relies on: an earlier plan of the same transaction must not have changed them.
    package var reads: [PlanKey]
    /// Keys that the plan changes although no change of it names them.
    package var touched: [PlanKey] = []
    /// Further work after the commit, beside the consequences of the changes.
    package var followUps: [FollowUp] = []

    package init(changes: [StoreChange] = [], reply: Reply = .none, reads: [PlanKey] = []) {
        self.changes = changes
        self.reply = reply
        self.reads = reads
    }

    /// All keys that the plan changes.
    package var writes: [PlanKey] {
        var keys = touched
        for change in changes { change.visitKeys { keys.append($0) } }
        return keys
    }

    /// The plan with a line in the log of changes for each application that it changes.
    func logged(as note: ChangeNote, at time: Timestamp) -> Plan {
        guard !changes.isEmpty else { return self }
        var plan = self
        for application in note.applications(of: reply) {
            var line = note
            line.application = application
            plan.changes.append(.log(line, at: time, keeping: RouterLimits.changesKept))
        }
        return plan
    }

    /// A plan that changes nothing.
    package static func refused(_ refusal: Refusal) -> Plan { Plan(reply: .refused(refusal)) }
}

/// A fact that plans of one transaction may disagree about. `StoreChange.visitKeys` says which keys a change changes.
///
/// Choosing reads the registry, which sessions change; this is left out on purpose. Neither the notification nor the
/// session's change has been answered yet, so either order is a true one, and neither has to wait for the other.
package enum PlanKey: Hashable, Sendable {
    case application(ApplicationID)
    case source(SourceID)
    /// The membership of resources in sets.
    case resourceSets
    /// API keys created by requests.
    case keys
    /// The version of the rules. Choosing leaves it out, as it leaves out the registry: a notification of the same transaction
    /// has not been answered yet, and its decision says which version it was made under.
    case rules
    /// The names of all sources.
    case sources
    case session(SessionKey)
    /// A gate and its passcode lock.
    ///
    /// Plans that only ask whether the gate is open leave the key out, as choices do: deliveries in a lane wait there too.
    case gate(GateKey)
    /// The sessions connected at a gate, and those in the foreground.
    ///
    /// Plans without a look at other sessions leave the key out: connections at one gate share a transaction.
    case attendance(GateKey)
    /// All gates of the application with a history: a change of the application's gate settings looks at each of them.
    case gates(ApplicationID)
    /// The application's sessions as a set.
    case sessions(ApplicationID)
    /// Whether the application is about to get a session that the router makes.
    case newSession(ApplicationID)
    /// The application's notifications as a set.
    case notifications(ApplicationID)
    case dedupe(DedupeKey)
    /// The newest notification under the key.
    case collapse(CollapseKey)
    case delivery(NotificationSequence)
    /// All replays and their positions.
    case replays
    /// The discarded sessions that the application's delegate is still to be told of.
    case discards(ApplicationID)
}

/// The plans that share one transaction.
package struct Batch: Sendable {
    package private(set) var plans: [Plan] = []
    /// The sum of `StoreChange.rows`.
    package private(set) var rows = 0
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
        for change in plan.changes {
            rows += change.rows
            change.visitKeys { written.insert($0) }
        }
        written.formUnion(plan.touched)
    }
}
