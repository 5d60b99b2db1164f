import Router
import RouterPlugin
package import RouterdApp
import Synchronization

/// A load run against a daemon: registers, receives, sends when it is time, waits, and closes the books.
package struct LoadRun: Sendable {
    /// Lines of a batch that registers sessions.
    private static let batchLines = 1000

    private let plan: LoadPlan
    private let client: APIClient
    private let application: String
    private let drainSeconds: Double
    private let setting: LoadSetting
    private let display: ProgressDisplay
    private let interruption: LoadInterruption?

    /// - Parameters:
    ///   - application: The application to register.
    ///   - drainSeconds: How long to wait, at the end, for webhooks that have not come.
    ///   - setting: The circumstances of the run, for the report.
    ///   - interruption: The end of the daemon during the run.
    package init(
        plan: LoadPlan, client: APIClient, application: String, drainSeconds: Double, setting: LoadSetting,
        display: ProgressDisplay, interruption: LoadInterruption? = nil
    ) {
        self.plan = plan
        self.client = client
        self.application = application
        self.drainSeconds = drainSeconds
        self.setting = setting
        self.display = display
        self.interruption = interruption
    }

    /// The books, which the sender and the receivers write.
    private final class Books: Sendable {
        private let start = Nanoseconds.now
        private let ledger: Mutex<LoadLedger>

        init(_ plan: LoadPlan) { ledger = Mutex(LoadLedger { plan.behaviour(of: $0).isHealthy }) }

        /// Nanoseconds since the books were opened.
        var now: UInt64 { UInt64(Nanoseconds.now - start) }
        var copy: LoadLedger { ledger.withLock { $0 } }

        func write(_ body: (inout sending LoadLedger) -> Void) { ledger.withLock { body(&$0) } }

        /// Whether this number of requests was answered, and all webhooks came.
        func isClosed(after offered: Int) -> Bool { ledger.withLock { $0.answered == offered && $0.missing == 0 } }
    }

    package func run(receivingAt address: ListenAddress) async throws -> LoadReport {
        let books = Books(plan)
        let (ports, listening) = AsyncStream<Int>.makeStream()
        let receivers = EchoApp(
            address: address, answer: { [plan] id, path in await Self.answer(id, at: path, plan, books) })
        return try await withThrowingTaskGroup(of: Void.self) { group in
            // A child of the group: the run does not end before the receivers have, and fails if they do.
            group.addTask {
                defer { listening.finish() }
                try await receivers.run { port in listening.yield(port) }
            }
            guard let port = await ports.first(where: { _ in true }) else {
                try await group.next()
                throw LoadError(reason: "nothing can be received at \(address.host):\(address.port)")
            }
            let report: Result<LoadReport, any Error>
            do {
                report = .success(try await measure(books, receivingAt: address.shown(port: port)))
            } catch {
                report = .failure(error)
            }
            receivers.stop()
            try await group.waitForAll()
            return try report.get()
        }
    }

    /// The answer of a session's receiver, which behaves as planned.
    private static func answer(_ id: String, at path: String, _ plan: LoadPlan, _ books: Books) async -> Int {
        let session = Int(path.drop { $0 == "/" }) ?? -1
        let behaviour = plan.behaviour(of: session)
        if behaviour == .slow { try? await Task.sleep(for: slowness) }
        if behaviour == .hangs { try? await Task.sleep(for: .seconds(3600)) }
        let status = if case .status(let status) = behaviour { status } else { 204 }
        books.write { $0.receive(id, by: session, isTaken: status < 300, at: books.now) }
        return status
    }

    private static let slowness = Duration.seconds(2)

    private func measure(_ books: Books, receivingAt authority: String) async throws -> LoadReport {
        try await register(at: authority)
        let start = books.now
        books.write { $0.startedAt = start }
        var progress = LoadProgress(plan: plan, display: display)
        let watch = GeneratorWatch()
        async let interrupted: Void = interrupt(from: start, books)
        let offered =
            if let clients = plan.clients {
                try await offer(with: clients, from: start, books)
            } else {
                try await offer(from: start, books, &progress)
            }
        try await interrupted
        let busiest = GeneratorWatch().busiestThread(since: watch)
        try await drain(books, offered: offered, &progress)
        progress.end()
        let ledger = books.copy
        return LoadReport(
            plan: plan, offered: offered, ledger: ledger, elapsedSeconds: Double(books.now - start) / 1e9,
            setting: setting,
            generator: GeneratorVerdict(latenessP99: ledger.lateness.percentile(99), busiestThread: busiest))
    }

    private func register(at authority: String) async throws {
        try await expect(
            client.send(
                .put, "/v1/applications/\(application)", body: Array(#"{"displayName":"Load"}"#.utf8)))
        for first in stride(from: 0, to: plan.sessions, by: Self.batchLines) {
            let lines = (first..<min(first + Self.batchLines, plan.sessions)).map { session in
                JSONWriter.object { line in
                    line.field("id", "session-\(session)")
                    line.field("activationState", "foregroundActive")
                    line.object("activationConditions") { conditions in
                        conditions.field(
                            "canActivateForTargetContentIdentifierPredicate",
                            "SELF == '\(plan.contentID(session))'")
                    }
                    line.object("endpoint") { $0.field("url", "http://\(authority)/\(session)") }
                }
            }
            let (status, answer) = try await client.send(
                .post, "/v1/applications/\(application)/sessions:batch", body: Array(lines.joined(separator: [10])))
            try expect((status, answer))
            if let fault = answer.split(separator: 10).first(where: { line in
                let status = (try? JSONValue(parsing: Array(line)))?["status"]?.asInt64 ?? 500
                return !(200...299).contains(status)
            }) {
                throw LoadError(reason: "a session is not registered: \(String(decoding: fault, as: UTF8.self))")
            }
        }
    }

    private func expect(_ answer: (status: Int, body: [UInt8])) throws {
        guard (200...299).contains(answer.status) else {
            throw LoadError(reason: "answered \(answer.status): \(String(decoding: answer.body, as: UTF8.self))")
        }
    }

    /// Ends the daemon when it is time, and marks its end and its return.
    private func interrupt(from start: UInt64, _ books: Books) async throws {
        guard let interruption else { return }
        let due = start + UInt64(interruption.seconds * 1e9)
        try await Task.sleep(nanoseconds: due - min(due, books.now))
        try await interruption.kill()
        books.write { $0.mark("the daemon was killed", at: books.now) }
        try await interruption.restart()
        books.write { $0.mark("the daemon listens again", at: books.now) }
    }

    /// Sends every request when it is due, or as soon after as can be; returns how many.
    private func offer(from start: UInt64, _ books: Books, _ progress: inout LoadProgress) async throws -> Int {
        let arrivals = plan.arrivals()
        let path = "/v1/applications/\(application)/notifications"
        let payloads = (0..<plan.sessions).map(plan.payload)
        for arrival in arrivals {
            let (due, now) = (start + arrival.due, books.now)
            progress.show(at: now) { books.copy }
            if due > now { try await Task.sleep(nanoseconds: due - now) }
            let request = Sent(session: arrival.session, due: due, at: books.now)
            books.write { $0.sent(due: due, at: request.at) }
            client.post(path, body: payloads[arrival.session]) { outcome in
                books.write { Self.note(outcome, request, books.now, in: &$0) }
            }
        }
        return arrivals.count
    }

    /// Lets clients send, each its next request after the answer to the last one; returns how many were sent.
    private func offer(with clients: Int, from start: UInt64, _ books: Books) async throws -> Int {
        let path = "/v1/applications/\(application)/notifications"
        let payloads = (0..<plan.sessions).map(plan.payload)
        let end = start + UInt64(plan.seconds * 1e9)
        let sent = await withTaskGroup(of: Int.self) { group in
            for number in 0..<clients {
                group.addTask {
                    var count = 0
                    for session in plan.sessions(ofClient: number) {
                        let now = books.now
                        guard now < end else { break }
                        count += 1
                        let request = Sent(session: session, due: now, at: now)
                        books.write { $0.sent(due: now, at: now) }
                        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
                            client.post(path, body: payloads[session]) { outcome in
                                books.write { Self.note(outcome, request, books.now, in: &$0) }
                                done.resume()
                            }
                        }
                    }
                    return count
                }
            }
            return await group.reduce(0, +)
        }
        return sent
    }

    /// A request under way.
    private struct Sent: Sendable {
        let session: Int
        let due: UInt64
        let at: UInt64
    }

    private static func note(
        _ outcome: TransferResult.Outcome, _ request: Sent, _ now: UInt64, in ledger: inout LoadLedger
    ) {
        switch outcome {
        case .failure(let failure): ledger.leaveUnanswered(failure.kind.rawValue)
        case .response(let response):
            guard response.status == 202,
                let id = (try? JSONValue(parsing: response.body))?["id"]?.asString
            else { return ledger.refuse(response.status) }
            // Receivers know the delivery, not the notification.
            ledger.accept(
                Identity.delivery(of: NotificationID(unchecked: id)), for: request.session, due: request.due,
                sent: request.at, at: now)
        }
    }

    /// Waits until every request has been answered and every webhook has come, or until the waiting time is over.
    private func drain(_ books: Books, offered: Int, _ progress: inout LoadProgress) async throws {
        let end = books.now + UInt64(drainSeconds * 1e9)
        while books.now < end, !books.isClosed(after: offered) {
            progress.show(at: books.now) { books.copy }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}

/// The end of a daemon by `kill -9` during a load run, and its return.
package struct LoadInterruption: Sendable {
    /// From the start of the run.
    package var seconds: Double
    package var kill: @Sendable () async throws -> Void
    package var restart: @Sendable () async throws -> Void

    package init(
        seconds: Double, kill: @escaping @Sendable () async throws -> Void,
        restart: @escaping @Sendable () async throws -> Void
    ) {
        (self.seconds, self.kill, self.restart) = (seconds, kill, restart)
    }
}

/// The reason why a load run could not be made.
struct LoadError: Error, CustomStringConvertible {
    let reason: String
    var description: String { reason }
}
