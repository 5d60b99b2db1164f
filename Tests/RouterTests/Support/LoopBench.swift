import Router
import RouterPlugin
import RouterTesting

/// A loop with its store and its time. It performs the loop's effects and records them for the test.
struct LoopBench {
    var loop: EngineLoop
    let store = ModelStore()
    var now = Timestamp.epoch
    /// Errors of the next commits: nil for a success; later commits succeed.
    var fates: [StoreError?] = []
    /// The number of the last published event; nil if none are wanted.
    var lastEvent: Int64?

    /// The number of commands in each transaction, in order; failed ones included.
    private(set) var transactions: [Int] = []
    /// The lookups of each read, in order.
    private(set) var reads: [[Lookup]] = []
    /// The answers by ticket.
    private(set) var answers: [Int: Reply] = [:]
    private(set) var attempts: [AttemptStart] = []
    private(set) var reports: [EngineLoop.Report] = []
    private(set) var cuts: [ConnectionCut] = []
    private(set) var published: [CommittedEvent] = []
    private(set) var contradiction: StoreError?
    /// The number of rests, and the time until which the last one was to last.
    private(set) var rests = 0
    private(set) var due: Timestamp?
    private(set) var isIdle = false
    private var tickets = 0

    /// A bench with one application and its sessions, and nothing counted yet.
    init(
        _ application: Application = .gallery(), _ scenes: [Scene] = [Scene("A", .foregroundActive)],
        rules: [any RoutingRule] = [], limits: EngineLoop.Limits = EngineLoop.Limits(retryMilliseconds: 500)
    ) {
        let engine = Engine(recovering: RecoveredState(), rules: rules, generator: SeededGenerator(seed: 1))
        loop = EngineLoop(engine, limits: EngineLoop.Limits(retryMilliseconds: 500))
        offer(.putApplication(.of(application)))
        run()
        for scene in scenes { offer(.putSession(.gallery(scene.id), .of(scene))) }
        run()
        loop.limits = limits
        startCounting()
    }

    /// Sets all counts to zero.
    mutating func startCounting() {
        (transactions, reads, answers, reports, rests, tickets) = ([], [], [:], [], 0, 0)
    }

    /// The number of notifications in each state that has any, by the store.
    var states: [NotificationState: Int] {
        get throws { try store.census().byState.filter { $0.value != 0 } }
    }

    /// Offers a command of a client; its ticket is the number of commands before it.
    mutating func offer(_ command: Command) {
        loop.offer(command, ticket: EngineLoop.Ticket(tickets))
        tickets += 1
    }

    mutating func accept(_ content: ContentID? = "x", expiration: Expiration = .never, keys: [String] = []) {
        offer(.accept(.of(content, expiration: expiration, keys: keys)))
    }

    /// Ends the attempt that was started at that place.
    mutating func finish(_ place: Int, _ result: TransferResult = .status(200)) {
        let attempt = attempts[place]
        let finished = FinishedAttempt(
            sequence: attempt.notification.sequence, number: attempt.number, session: attempt.receiver.session,
            url: attempt.endpoint.url, startedAt: now, result: result)
        loop.offer(.attemptFinished(finished), ticket: nil)
    }

    /// Makes rounds until the loop rests.
    mutating func run() {
        repeat { round() } while !loop.isResting
    }

    mutating func round() {
        repeat { for effect in loop.next(at: now) { perform(effect) } } while loop.isInRound
    }

    private mutating func perform(_ effect: EngineLoop.Effect) {
        switch effect {
        case .read(let lookups):
            reads.append(lookups)
            do { loop.found(try store.facts(for: lookups)) } catch { loop.failed(reading: lookups, error) }
        case .commit(let transaction): for effect in commit(transaction) { perform(effect) }
        case .answer(let ticket, let reply): answers[ticket.number] = reply
        case .publish(let events): published += events
        case .start(let started): attempts += started
        case .report(let report): reports.append(report)
        case .cut(let connections): cuts += connections
        case .rest(let until):
            rests += 1
            due = until
            isIdle = false
        case .idle: isIdle = true
        case .giveUp(let error): contradiction = error
        }
    }

    private mutating func commit(_ transaction: EngineLoop.Transaction) -> [EngineLoop.Effect] {
        transactions.append(transaction.jobs.count)
        do throws(StoreError) {
            if !fates.isEmpty, let fate = fates.removeFirst() { throw fate }
            if !transaction.changes.isEmpty { try store.commit(transaction.changes) }
            return loop.committed(transaction, after: lastEvent, at: now)
        } catch {
            return loop.failed(transaction, error, at: now)
        }
    }
}
