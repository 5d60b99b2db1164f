import ArgumentParser
import DeliveryCurl
import Glibc
import Router
import RouterPlugin
import RouterdApp
import StoreSQLite

struct Bench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure a running daemon, the decision alone, and the parts that a notification cannot do without.",
        discussion: "`make measure` runs the parts beside the daemon; docs/PERFORMANCE.md has the figures.",
        subcommands: [Load.self, Decisions.self, Echo.self, StoreFloor.self, PostFloor.self])

    struct Echo: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Serve an HTTP endpoint that reads each body and answers 204: the floor of HTTP.")

        @Option(help: "Where to listen: HOST:PORT; port 0 picks a free one.")
        var listen = "127.0.0.1:0"

        func run() async throws {
            let address = try ListenAddress(option: "--listen", listen)
            do {
                try await EchoApp(address: address).run { port in
                    Console.error("listening on http://\(address.shown(port: port))")
                }
            } catch {
                guard let failure = ListenFailure(error, at: address) else { throw error }
                Console.error("\(failure)")
                throw ExitCode(1)
            }
        }
    }

    struct StoreFloor: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "store", abstract: "Insert notifications in batches and settle them: the floor of the store.")

        @Option(help: "A database file that does not exist yet.")
        var database: String
        @Option(help: "How many notifications.")
        var count = 20_000
        @Option(help: "How many share a transaction.")
        var batch = 64

        func validate() throws {
            try Bounds.check(count, "--count")
            try Bounds.check(batch, "--batch")
        }

        func run() throws {
            let store = try SQLiteStore(path: database)
            let samples = (1...count).map { Sample.notification(Int64($0)) }
            let start = ProcessorTime.now
            for first in stride(from: 0, to: count, by: batch) {
                let chunk = samples[first..<min(first + batch, count)]
                try store.commit(chunk.map { .insert($0) })
                try store.commit(
                    chunk.flatMap {
                        [.recordAttempt(Sample.attempt($0)), .settle($0.sequence, .delivered, at: $0.receivedAt)]
                    })
            }
            let spent = ProcessorTime.now - start
            try store.close()
            Console.print(JSONWriter.object { $0.field("microsecondsEach", spent / Double(count)) })
        }
    }

    struct PostFloor: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "post", abstract: "Post bodies by libcurl, so many at once: the floor of delivery.")

        @Option(help: "Where to post to.")
        var url: String
        @Option(help: "How many requests.")
        var count = 20_000
        @Option(help: "How many at once.")
        var concurrency = 64

        func validate() throws {
            try Bounds.check(count, "--count")
            guard (1...min(count, 4096)).contains(concurrency) else {
                throw ValidationError("--concurrency has to be 1 to 4096, and not more than --count.")
            }
        }

        func run() async throws {
            let configuration = CurlConfiguration(egress: .unguarded, slots: concurrency, waitingLimit: count)
            let transport = try CurlTransport(configuration: configuration)
            let request = WebhookRequest(
                url: url, headers: [HeaderField("content-type", "application/json")], body: Sample.payload)
            let share = count / concurrency
            let start = ProcessorTime.now
            // The senders are children of the group, which ends when each has posted its share.
            let failures = await withTaskGroup(of: Int.self) { group in
                for _ in 0..<concurrency { group.addTask { await Self.post(request, share, by: transport) } }
                return await group.reduce(0, +)
            }
            let spent = ProcessorTime.now - start
            transport.close()
            guard failures == 0 else { throw ExitCode(1) }
            Console.print(JSONWriter.object { $0.field("microsecondsEach", spent / Double(share * concurrency)) })
        }

        /// Posts one after another; returns how many were not taken.
        private static func post(_ request: WebhookRequest, _ count: Int, by transport: CurlTransport) async -> Int {
            var failures = 0
            for _ in 0..<count {
                let outcome = await transport.send(request).outcome
                guard case .response(let response) = outcome, (200...299).contains(response.status) else {
                    failures += 1
                    continue
                }
            }
            return failures
        }
    }
}

/// How much of anything a measurement may be asked for.
private enum Bounds {
    static func check(_ number: Int, _ option: String) throws {
        guard (1...10_000_000).contains(number) else { throw ValidationError("\(option) has to be 1 to 10000000.") }
    }
}

/// What the measurements are made with.
private enum Sample {
    /// 1 KiB, as a notification with a picture's address and some text has.
    static let payload: [UInt8] = JSONWriter.object { body in
        body.object("aps") { $0.field("alert", String(repeating: "a word or two ", count: 65)) }
        body.field("notification-content-id", "gallery://photo/7")
    }

    static func notification(_ number: Int64) -> NewNotification {
        let now = Timestamp(milliseconds: 1_767_225_600_000 + number)
        let header = NotificationHeader(
            sequence: NotificationSequence(number), id: NotificationID(unchecked: "ntf_\(number)"),
            application: ApplicationID(unchecked: "com.example.Gallery"),
            contentID: ContentID(unchecked: "gallery://photo/7"), receivedAt: now)
        return NewNotification(
            header, source: PluginID(unchecked: "routerd.source.push"), payload: .json(payload),
            decision: Decision(tier: .can, session: SessionID(unchecked: "main"), reason: "can: TRUEPREDICATE"),
            placement: .lane)
    }

    static func attempt(_ notification: NewNotification) -> AttemptRecord {
        AttemptRecord(
            sequence: notification.sequence, number: 1, session: SessionID(unchecked: "main"),
            startedAt: notification.receivedAt, status: 204, failure: nil, retryAfterSeconds: nil,
            metrics: TransferMetrics(), responseExcerpt: [])
    }
}

/// Processor time of this process, all threads, user and system, in microseconds.
private enum ProcessorTime {
    static var now: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func microseconds(_ time: timeval) -> Double { Double(time.tv_sec) * 1_000_000 + Double(time.tv_usec) }
        return microseconds(usage.ru_utime) + microseconds(usage.ru_stime)
    }
}
