import DequeModule
import Dispatch
package import Router
package import RouterPlugin
import Synchronization

/// Asks remote rules about notifications before the engine plans them.
///
///     commands ──▶ line of the application ──▶ candidates, read on the engine's queue ──▶ rules ──▶ answers ──▶ inbox
///
/// The answers come in any order, the commands of one application enter the inbox in the order in which they came. Other
/// applications do not wait for them. Other rules take the place of these whole, or not at all: see `exchange`.
package actor RuleDesk {
    nonisolated let executor = QueueExecutor(label: "routerd.rules")
    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// A rule and the way to it.
    package struct Member: Sendable {
        package let rule: RemoteRule
        package let transport: any RuleTransport
        /// Tells it from another member with an equal rule.
        let identity = Identity()

        final class Identity: Sendable {}

        package init(_ rule: RemoteRule, _ transport: any RuleTransport) {
            (self.rule, self.transport) = (rule, transport)
        }
    }

    /// The members, and while others take their place those too: commands that either concern wait for the end of it.
    struct Membership {
        var members: [Member]
        var coming: [Member] = []

        func concerns(_ commands: [Command]) -> Bool {
            if members.isEmpty, coming.isEmpty { return false }
            return commands.contains { command in
                switch command {
                case .accept(let request): concerns(request.application)
                case .acceptAll(let requests): requests.contains { concerns($0.application) }
                default: false
                }
            }
        }

        private func concerns(_ application: ApplicationID) -> Bool {
            members.contains { $0.rule.applies(to: application) }
                || coming.contains { $0.rule.applies(to: application) }
        }
    }

    /// Makes the way to a rule.
    package typealias Maker = @Sendable (RemoteRule) throws(PluginFolderError) -> any RuleTransport

    /// Commands that wait for answers.
    private final class Waiting {
        var commands: [Command]
        let answer: (@Sendable ([Reply]) -> Void)?
        let host: EngineHost
        /// Whether the questions wait for the end of an exchange.
        var isHeld = false
        /// Nil before the rules are asked.
        var questionsLeft: Int?

        init(_ entry: Inbox.Entry, _ host: EngineHost) {
            (commands, answer, self.host) = (entry.commands, entry.answer, host)
        }
    }

    /// One notification that is asked about.
    private final class Inquiry {
        let question: RemoteQuestion
        let members: [Member]
        let now: Timestamp
        let strangers: Strangers?
        let completion: (RuleAnswers?) -> Void
        /// How many of the candidates have been asked about.
        var asked = 0
        var answers: [PluginID: RuleAnswer] = [:]
        var page: [Candidate] = []
        var left = 0

        init(
            _ question: RemoteQuestion, _ members: [Member], _ now: Timestamp, _ strangers: Strangers?,
            _ completion: @escaping (RuleAnswers?) -> Void
        ) {
            (self.question, self.members, self.now) = (question, members, now)
            (self.strangers, self.completion) = (strangers, completion)
        }

        /// The sessions that verdicts redirect to and that are no candidates, of each rule in order.
        var redirects: [PluginID: [Redirect]] {
            let known = Set(question.candidates.map(\.session))
            return answers.compactMapValues { answer in
                guard case .verdicts(let verdicts) = answer else { return nil }
                let found = verdicts.compactMap { session, verdict -> Redirect? in
                    guard case .redirect(let target, _) = verdict, !known.contains(target) else { return nil }
                    return Redirect(session: session, target: target)
                }
                return found.isEmpty ? nil : found.sorted { ($0.session, $0.target) < ($1.session, $1.target) }
            }
        }

        /// Puts faults in the place of answers that redirect to a session which does not exist, and tells the plugins of it.
        func refuse(_ redirects: [PluginID: [Redirect]], to strangers: Set<SessionID>) {
            for member in members {
                guard let redirect = redirects[member.rule.id]?.first(where: { strangers.contains($0.target) })
                else { continue }
                answers[member.rule.id] = .fault(.malformed)
                let cause = "to: \(redirect.session) is redirected to \(redirect.target), and there is no such session"
                member.transport.refused(RuleFailure(.malformed, because: cause))
            }
        }

        /// Whether a rule vetoes the session.
        func vetoes(_ session: SessionID) -> Bool {
            answers.values.contains { answer in
                guard case .verdicts(let verdicts) = answer, case .veto? = verdicts[session] else { return false }
                return true
            }
        }
    }

    /// Finds the names among some that no session of an application has.
    package typealias Strangers =
        @Sendable (Set<SessionID>, ApplicationID, _ answer: @escaping @Sendable (Set<SessionID>) -> Void) -> Void

    /// A verdict that gives a notification to another session.
    private struct Redirect: Sendable {
        let session: SessionID
        let target: SessionID
    }

    nonisolated let membership: Mutex<Membership>
    nonisolated let make: Maker?
    var exchanges = Exchanges()
    private nonisolated let admission = Mutex(Admission())
    private var lines: [ApplicationID: Deque<Waiting>] = [:]
    private var inquiries: [Int: Inquiry] = [:]
    private var lastInquiry = 0

    /// - Parameter make: Makes the ways to rules that come later; nil takes none.
    package init(_ members: [Member], make: Maker? = nil) {
        membership = Mutex(Membership(members: members))
        self.make = make
    }

    package nonisolated var members: [Member] { membership.withLock { $0.members } }

    /// Gives commands to the host, those that remote rules decide on when these have answered.
    ///
    /// - Returns: False if too many commands wait already.
    nonisolated func offer(_ entry: Inbox.Entry, to host: EngineHost) -> Bool {
        // Commands that pass are in the inbox before an exchange begins.
        let passed: Bool? = membership.withLock { $0.concerns(entry.commands) ? nil : host.insert(entry) }
        return passed ?? take(entry, for: host)
    }

    private nonisolated func take(_ entry: Inbox.Entry, for host: EngineHost) -> Bool {
        guard let application = entry.commands.lazy.flatMap(\.accepted).first?.application else { return false }
        guard admission.withLock({ $0.admit(entry.commands.count, of: application) }) else { return false }
        executor.queue.async { self.assumeIsolated { $0.begin(entry, of: application, host) } }
        return true
    }

    /// The answers to a notification that is explained.
    ///
    /// - Parameter strangers: Without it, redirects are not looked at.
    package func answers(
        to question: RemoteQuestion, at now: Timestamp, knowing strangers: Strangers? = nil
    ) async -> RuleAnswers? {
        await withCheckedContinuation { continuation in
            ask(question, at: now, knowing: strangers) { continuation.resume(returning: $0) }
        }
    }

    package func start() async { for member in members { await member.transport.start() } }

    package func stop() async { for member in members { await member.transport.stop() } }

    private func begin(_ entry: Inbox.Entry, of application: ApplicationID, _ host: EngineHost) {
        let waiting = Waiting(entry, host)
        lines[application, default: []].append(waiting)
        if exchanges.isUnderWay { waiting.isHeld = true } else { ask(waiting, of: application) }
    }

    /// Asks about the commands that have waited for the end of an exchange.
    func askHeld() {
        for (application, line) in lines {
            for waiting in line where waiting.isHeld {
                waiting.isHeld = false
                ask(waiting, of: application)
            }
        }
    }

    private func ask(_ waiting: Waiting, of application: ApplicationID) {
        exchanges.asking += 1
        let requests = waiting.commands.flatMap(\.accepted)
        let place = ObjectIdentifier(waiting)
        waiting.host.questions(about: requests) { [executor] questions, now in
            executor.queue.async {
                self.assumeIsolated { $0.ask(questions, of: place, in: application, at: now) }
            }
        }
    }

    private func ask(
        _ questions: [RemoteQuestion?], of place: ObjectIdentifier, in application: ApplicationID, at now: Timestamp
    ) {
        guard let waiting = lines[application]?.first(where: { ObjectIdentifier($0) == place }) else { return }
        waiting.questionsLeft = questions.count
        for (number, question) in questions.enumerated() {
            guard let question else {
                finish(number, nil, place, application)
                continue
            }
            ask(question, at: now, knowing: waiting.host.strangers) { [weak self] answers in
                self?.assumeIsolated { $0.finish(number, answers, place, application) }
            }
        }
    }

    private func finish(
        _ number: Int, _ answers: RuleAnswers?, _ place: ObjectIdentifier, _ application: ApplicationID
    ) {
        guard let waiting = lines[application]?.first(where: { ObjectIdentifier($0) == place }) else { return }
        if let answers { waiting.commands.setAnswers(answers, ofRequest: number) }
        waiting.questionsLeft = waiting.questionsLeft.map { $0 - 1 }
        while let first = lines[application]?.first, first.questionsLeft == 0 {
            lines[application]?.removeFirst()
            admission.withLock { $0.release(first.commands.count, of: application) }
            first.host.insert(Inbox.Entry(commands: first.commands, answer: first.answer), isAdmitted: true)
            exchanges.asking -= 1
        }
        exchanges.goOn()
        if lines[application]?.isEmpty == true { lines[application] = nil }
    }

    // MARK: - One notification

    private func ask(
        _ question: RemoteQuestion, at now: Timestamp, knowing strangers: Strangers?,
        _ completion: @escaping (RuleAnswers?) -> Void
    ) {
        let concerned = members.filter { $0.rule.applies(to: question.notification.application) }
        // Without candidates there is nothing to have a verdict on.
        guard !concerned.isEmpty, !question.candidates.isEmpty else {
            let none = concerned.map { ($0.rule.id, RuleAnswer.verdicts([:])) }
            return completion(RuleAnswers(Dictionary(none) { first, _ in first }))
        }
        lastInquiry += 1
        inquiries[lastInquiry] = Inquiry(question, concerned, now, strangers, completion)
        askPage(of: lastInquiry)
    }

    private func askPage(of number: Int) {
        guard let inquiry = inquiries[number] else { return }
        inquiry.page = Array(inquiry.question.candidates.dropFirst(inquiry.asked).prefix(RuleProtocol.candidates))
        inquiry.asked += inquiry.page.count
        inquiry.left = inquiry.members.count
        for member in inquiry.members {
            member.transport.ask(inquiry.question.notification, inquiry.page, at: inquiry.now) { [executor] answer in
                executor.queue.async { self.assumeIsolated { $0.answered(member.rule.id, answer, number) } }
            }
        }
    }

    private func answered(_ rule: PluginID, _ answer: RuleAnswer, _ number: Int) {
        guard let inquiry = inquiries[number] else { return }
        switch (inquiry.answers[rule], answer) {
        case (.verdicts(let earlier)?, .verdicts(let further)):
            inquiry.answers[rule] = .verdicts(earlier.merging(further) { first, _ in first })
        case (.verdicts?, _): break
        default: inquiry.answers[rule] = answer
        }
        inquiry.left -= 1
        guard inquiry.left == 0 else { return }
        let isExhausted = inquiry.asked >= inquiry.question.candidates.count
        let goesOn =
            inquiry.question.isAboutAll || inquiry.page.allSatisfy { candidate in inquiry.vetoes(candidate.session) }
        if !isExhausted, goesOn {
            askPage(of: number)
        } else {
            settle(inquiry, number)
        }
    }

    /// Ends a question when the sessions are known that its answers redirect to.
    private func settle(_ inquiry: Inquiry, _ number: Int) {
        let redirects = inquiry.redirects
        guard let strangers = inquiry.strangers, !redirects.isEmpty else { return end(number) }
        let targets = Set(redirects.values.joined().map(\.target))
        strangers(targets, inquiry.question.notification.application) { [executor] found in
            executor.queue.async {
                self.assumeIsolated { desk in
                    desk.inquiries[number]?.refuse(redirects, to: found)
                    desk.end(number)
                }
            }
        }
    }

    private func end(_ number: Int) {
        guard let inquiry = inquiries.removeValue(forKey: number) else { return }
        inquiry.completion(RuleAnswers(inquiry.answers))
        exchanges.answered()
    }
}

extension RuleDesk {
    /// Whether one of the members is being asked.
    func isAsking(_ members: [Member]) -> Bool {
        inquiries.values.contains { inquiry in
            inquiry.members.contains { member in members.contains { $0.identity === member.identity } }
        }
    }
}

/// How many commands wait for answers: one application cannot take the room of all others.
struct Admission {
    private var count = 0
    private var counts: [ApplicationID: Int] = [:]

    /// Counts commands of an application; false if there is no room for them. A request of many commands has room if none of
    /// its application's waits.
    mutating func admit(_ commands: Int, of application: ApplicationID) -> Bool {
        let own = counts[application] ?? 0
        guard count + commands <= DaemonLimits.commandsAsking,
            own == 0 || own + commands <= DaemonLimits.commandsAskingOfApplication
        else { return false }
        count += commands
        counts[application] = own + commands
        return true
    }

    mutating func release(_ commands: Int, of application: ApplicationID) {
        count -= commands
        let own = (counts[application] ?? 0) - commands
        counts[application] = own > 0 ? own : nil
    }
}

extension Command {
    /// The notifications that the command accepts.
    fileprivate var accepted: [AcceptRequest] {
        switch self {
        case .accept(let request): [request]
        case .acceptAll(let requests): requests
        default: []
        }
    }
}

extension [Command] {
    /// Gives answers to a notification, by its place among all notifications of the commands.
    fileprivate mutating func setAnswers(_ answers: RuleAnswers, ofRequest number: Int) {
        var first = 0
        for place in indices {
            switch self[place] {
            case .accept(var request):
                if first == number {
                    request.answers = answers
                    self[place] = .accept(request)
                }
                first += 1
            case .acceptAll(var requests):
                if (first..<first + requests.count).contains(number) {
                    requests[number - first].answers = answers
                    self[place] = .acceptAll(requests)
                }
                first += requests.count
            default: break
            }
        }
    }
}

extension EngineHost {
    /// Asks the engine for the names that no session has; the answer is given on its queue.
    nonisolated var strangers: RuleDesk.Strangers {
        { names, application, answer in
            self.executor.queue.async {
                self.assumeIsolated { host in
                    answer(host.loop.engine.tenants[application]?.strangers(among: names) ?? [])
                }
            }
        }
    }

    /// Reads the candidates of notifications; `answer` is called on the engine's queue. An unknown application has none.
    nonisolated func questions(
        about requests: [AcceptRequest], _ answer: @escaping @Sendable ([RemoteQuestion?], Timestamp) -> Void
    ) {
        find([], about: requests, DecisionWork(limit: RouterLimits.stepsPerTurn), answer)
    }

    /// Reads the candidates of the other notifications in turns: between two of them, commands have theirs.
    private nonisolated func find(
        _ found: [RemoteQuestion?], about requests: [AcceptRequest], _ work: DecisionWork,
        _ answer: @escaping @Sendable ([RemoteQuestion?], Timestamp) -> Void
    ) {
        executor.queue.async {
            self.assumeIsolated { host in
                var (found, work) = (found, work)
                for request in requests[found.count...] {
                    let question = host.loop.engine.tenants[request.application].map {
                        RemoteQuestion(about: request, in: $0, limit: DaemonLimits.candidatesAsked, &work)
                    }
                    if work.isUnfinished {
                        work.resume(RouterLimits.stepsPerTurn)
                        return host.find(found, about: requests, work, answer)
                    }
                    found.append(question)
                }
                answer(found, host.clock.now)
            }
        }
    }
}
