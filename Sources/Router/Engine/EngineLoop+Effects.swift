package import RouterPlugin

extension EngineLoop {
    /// The sizes of rounds and transactions.
    package struct Limits: Sendable {
        /// Commands that share a transaction, at most.
        package var commands: Int
        /// Rows that a transaction changes before no further command joins it.
        package var rows: Int
        /// Attempts that a round starts, at most.
        package var attempts: Int
        /// Time before postponed work is tried again.
        package var retryMilliseconds: Int64
        /// The steps of decisions.
        package var steps: Steps

        package init(
            commands: Int = RouterLimits.commandsPerTransaction, attempts: Int = RouterLimits.commandsPerTransaction,
            rows: Int = RouterLimits.rowsPerTransaction, retryMilliseconds: Int64, steps: Steps = Steps()
        ) {
            self.commands = commands
            self.rows = rows
            self.attempts = attempts
            self.retryMilliseconds = retryMilliseconds
            self.steps = steps
        }
    }

    /// How many steps decisions take before other commands have their turn.
    package struct Steps: Sendable {
        /// Of one application in a round, before its decisions go on in its line.
        package var first = RouterLimits.decisionSteps
        /// Of a decision in any case.
        package var least = RouterLimits.decisionStepsAtLeast
        /// Of a decision from a line, in one turn.
        package var turn = RouterLimits.stepsPerTurn
        /// Of all turns in a round.
        package var round = RouterLimits.stepsPerRound
        /// Commands of one application that wait in its line, at most.
        package var waiting = RouterLimits.commandsInLine

        package init() {}
    }

    /// Names a command whose client waits for the answer. The owner chooses it.
    package struct Ticket: Hashable, Sendable {
        package let number: Int

        package init(_ number: Int) { self.number = number }
    }

    /// A command on its way through the loop.
    package struct Job: Sendable {
        package var command: Command
        /// Nil if no client waits.
        package var ticket: Ticket?
        /// Whether it gets a transaction of its own, because one that it shared was a conflict.
        package var isAlone = false

        var followUp: FollowUp? { if case .followUp(let followUp) = command { followUp } else { nil } }
        var isFollowUp: Bool { followUp != nil }
    }

    /// Commands that were planned together, to be committed together.
    package struct Transaction: Sendable {
        package var jobs: [Job]
        /// One for each job.
        package var plans: [Plan]
        /// The changes of all plans, in order. If there are none, there is nothing to write.
        package var changes: [StoreChange]
    }

    /// An action of the owner.
    package enum Effect: Sendable {
        /// Read the answers to these lookups at once, then report `found` or `failed(reading:)`. Always the only effect of
        /// a step.
        case read([Lookup])
        /// Write the changes in one transaction, then report `committed` or `failed`. Always the last effect of a step.
        case commit(Transaction)
        case answer(Ticket, Reply)
        /// Publish the committed events.
        case publish([CommittedEvent])
        /// Send these attempts, and offer `.attemptFinished` for each when it is over.
        case start([AttemptStart])
        case report(Report)
        /// End these connections of receivers.
        case cut([ConnectionCut])
        /// Begin a round when something is offered, or at that time.
        case rest(until: Timestamp?)
        /// No attempt is under way, and nothing is left to commit.
        case idle
        /// Memory differs from the store, and own work cannot be committed: end, and recover from the store.
        case giveUp(StoreError)
    }

    /// News for operators. Nothing that has to happen depends on it.
    package enum Report: Sendable {
        case events([DeliveryEvent])
        /// The outcome of an attempt to a session has been committed, or was lost.
        case outcome(TransferResult, of: SessionKey, StatusTable)
        case deletion(SessionKey)
        /// The store could not be used.
        case storeFault(StoreError)
        /// The store refused a change that memory allows.
        case contradiction(StoreError)
        /// Own work could not be committed while draining; it is done again after the next start.
        case lost(StoreError)
    }
}
