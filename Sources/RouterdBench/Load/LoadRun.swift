import Router
import RouterPlugin
package import RouterdApp

/// A load run against a daemon: registers, receives, sends when it is time, waits, and closes the books.
package struct LoadRun: Sendable {
    /// The name of the run, which no other run with the daemon has.
    let id: String
    let plan: LoadPlan
    /// The senders; the first one also registers.
    let clients: [APIClient]
    let application: String
    let drainSeconds: Double
    let display: ProgressDisplay
    let interruption: LoadInterruption?
    let stop: LoadStop
    private let setting: LoadSetting

    var client: APIClient { clients[0] }

    /// - Parameters:
    ///   - id: The name of the run, of letters and digits; no other run with the daemon may have it.
    ///   - clients: The senders, which share the requests.
    ///   - application: The application to register.
    ///   - drainSeconds: How long to wait, at the end, for webhooks that have not come.
    ///   - setting: The circumstances of the run, for the report.
    ///   - interruption: The end of the daemon during the run.
    ///   - stop: Ends the run before its time.
    package init(
        id: String, plan: LoadPlan, clients: [APIClient], application: String, drainSeconds: Double,
        setting: LoadSetting, display: ProgressDisplay, interruption: LoadInterruption? = nil,
        stop: LoadStop = LoadStop()
    ) {
        (self.id, self.plan, self.clients, self.application) = (id, plan, clients, application)
        self.drainSeconds = drainSeconds
        self.setting = setting
        self.display = display
        self.interruption = interruption
        self.stop = stop
    }

    package func run(receivingAt address: ListenAddress) async throws -> LoadReport {
        let books = LoadBooks(plan)
        let (ports, listening) = AsyncStream<Int>.makeStream()
        // Signals end the run, which then ends its receivers.
        let receivers = EchoApp(
            address: address, endsAtSignals: false,
            answer: { webhook in
                // A webhook of an earlier run at the same address: its session is told that nothing is there any more.
                guard let session = session(at: webhook.path) else { return 410 }
                return await books.receive(webhook, by: session)
            })
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

    private func measure(_ books: LoadBooks, receivingAt authority: String) async throws -> LoadReport {
        try await register(at: authority, books)
        let before = await figures()
        let start = books.now
        books.write { $0.startedAt = start }
        let watch = GeneratorWatch()
        let offered = try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await interrupt(from: start, books) }
            group.addTask { try await changeStates(at: authority, from: start, books) }
            let offered =
                if let number = plan.clients {
                    try await offer(with: number, from: start, books)
                } else {
                    try await offer(from: start, books)
                }
            try await group.waitForAll()
            return offered
        }
        let busiest = GeneratorWatch().busiestThread(since: watch)
        let isInterrupted = stop.endsSending
        try await drain(books, offered: offered)
        let ledger = books.copy
        let seconds = Double(books.now - start) / 1e9
        let after = await figures()
        let daemon = before.flatMap { after?.since($0) }
        return LoadReport(
            plan: plan, offered: offered, ledger: ledger, elapsedSeconds: seconds, setting: setting,
            generator: GeneratorVerdict(
                latenessP99: ledger.lateness.percentile(99),
                connectionWaitP99: ledger.connectionWaits.percentile(99), busiestThread: busiest),
            daemon: daemon, wasKilled: interruption != nil, isInterrupted: isInterrupted || stop.endsSending)
    }

    /// The daemon's metrics; nil if they are not shown to the key in use.
    private func figures() async -> DaemonFigures? {
        guard let (status, body) = try? await client.send(.get, "/metrics", body: []), status == 200 else { return nil }
        return DaemonFigures(metrics: String(decoding: body, as: UTF8.self))
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
