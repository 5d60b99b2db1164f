import ArgumentParser
import FoundationEssentials
import Router
import RouterPlugin
import RouterdApp
import RouterdBench

extension Bench {
    struct Load: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Put a running daemon under load, with receivers of its own, and check that nothing is lost.",
            discussion: """
                Registers an application with sessions whose webhooks come to this process, and posts notifications at times that \
                do not depend on the answers (an open loop). Times count from when a request was due. With --clients, \
                that number of clients send one request after another (a closed loop). The status is 1 if nothing was accepted, \
                if anything was refused without --kill-at, or if not everything that was answered 202 came, signed, in order, \
                and to a session that brute force over all predicates names. --assert sets further bounds, or other ones.

                Times are told without a verdict if the generator was the bottleneck: if one request in a hundred was sent, or had \
                a connection, more than 1 ms late, or a thread took more than 80 % of a core. --find-max looks for the highest \
                rate within bounds in several runs, and makes no --report; its status is 1, too, if the generator was the limit.

                Bounds are percentiles of the times until the answer 202 (p50, p90, p99, p999), the first attempt \
                (firstAttempt.p99) and the delivery (delivery.p99), and counts: lost, unexpected, duplicates, misrouted, \
                overtaken, forged (signatures), refused, unanswered. The application stays registered; each run has sessions of \
                its own. Ctrl-C ends the sending, a second one the wait for webhooks.

                EXAMPLES
                  routerd bench load --rate 500 --seconds 10
                  routerd bench load --rate 2000 --sessions 1000 --report report.html
                  routerd bench load --own --assert p99=50ms,delivery.p99=1s,duplicates=0
                  routerd bench load --own --predicates mixed --churn 20
                  routerd bench load --own --recorded sessions.jsonl --subjects subjects.txt
                  routerd bench load --own --bad slow=5,hang=5,500=10,429=5 --isolation
                  routerd bench load --own --find-max p99=50ms,lost=0
                  routerd bench load --own --json > old.json
                  routerd bench load --own --compare old.json
                  routerd bench load --own --seconds 30 --kill-at 10 --report report.html
                """)

        @OptionGroup var server: ServerOptions
        @Option(help: "The application to register.")
        var application = "com.example.load"
        @Option(help: "Notifications a second, on average.")
        var rate = 500.0
        @Option(help: "For how long.")
        var seconds = 10.0
        @Option(help: "Sessions to deliver to, each with a lane of its own.")
        var sessions = 64
        @Option(help: "Bytes of a payload.")
        var payloadBytes = 1024
        @Option(help: "Requests under way at once, of all generators; more wait, and their time runs.")
        var connections = 128
        @Option(help: "Senders that share the requests, each on a thread of its own.")
        var generators = 1
        @Option(help: "The sessions' predicates: exact, prefix, suffix, contains, like, list, mixed or documents.")
        var predicates = LoadWorkload.Kind.exact
        @Option(help: "Sessions as JSON lines, as for `routerd decide`, in place of --sessions and --predicates.")
        var recorded: String?
        @Option(help: "Content ids for them, one a line.")
        var subjects: String?
        @Option(help: "How many sessions a second are registered again in another state.")
        var churn = 0.0
        @Option(help: "Where to receive webhooks; the daemon must be allowed to connect there.")
        var receive = "127.0.0.1:0"
        @Option(help: "How long to wait, at the end, for webhooks that have not come.")
        var drainSeconds = 30.0
        @Option(help: "Seed of the arrival times and the choice of sessions.")
        var seed: UInt64 = 1
        @Option(help: "How the rate changes: steady, steps or bursts.")
        var shape = LoadPlan.Shape.steady
        @Option(help: "The number of clients, each of which waits for its answers; --rate has no effect then.")
        var clients: Int?
        @Option(help: "Receivers that do not take all at once, in percent, such as slow=5,hang=5,500=10,429=5.")
        var bad: String?
        @Flag(help: "Make the run twice, first with receivers that all take everything, and show the difference.")
        var isolation = false
        @Option(name: .customLong("assert"), help: "Bounds such as p99=50ms,lost=0; a run beyond them has status 1.")
        var bounds: String?
        @Option(help: "Look for the highest rate within such bounds, from --rate on.")
        var findMax: String?
        @Flag(help: "Start a daemon for the run, with a database of its own, in place of --server.")
        var own = false
        @Option(help: "A file for the report as a page.")
        var report: String?
        @Option(help: "The report of an earlier run, from --json: the differences are shown with their intervals.")
        var compare: String?
        @Option(help: "Kill the daemon of --own (SIGKILL) after so many seconds, and start it again.")
        var killAt: Double?
        @Option(
            help: """
                A file for the times until the answer 202 as HdrHistogram's tools read them; those of first attempts and \
                deliveries go beside it.
                """)
        var hgrm: String?

        func validate() throws {
            guard rate > 0, seconds > 0, rate * seconds <= 10_000_000 else {
                throw ValidationError("--rate times --seconds has to be 1 to 10,000,000 notifications.")
            }
            guard (1...100_000).contains(sessions) else { throw ValidationError("--sessions has to be 1 to 100000.") }
            guard (1...4096).contains(connections) else { throw ValidationError("--connections has to be 1 to 4096.") }
            guard (64...RouterLimits.payloadBytes).contains(payloadBytes) else {
                throw ValidationError(
                    "--payload-bytes has to be 64 to \(RouterLimits.payloadBytes), which a daemon takes.")
            }
            guard (1...64).contains(generators), generators <= connections else {
                throw ValidationError("--generators has to be 1 to 64, and not more than --connections.")
            }
            guard (0...10_000).contains(churn) else { throw ValidationError("--churn has to be 0 to 10000.") }
            guard (recorded == nil) == (subjects == nil) else {
                throw ValidationError("--recorded needs --subjects, and --subjects needs --recorded.")
            }
            guard !isolation || bad != nil else { throw ValidationError("--isolation needs --bad.") }
            for (option, text) in [("--assert", bounds), ("--find-max", findMax)] {
                guard text.map({ LoadGoal($0) != nil }) ?? true else {
                    throw ValidationError("\(option) has to be bounds such as p99=50ms,lost=0.")
                }
            }
            guard (0...3600).contains(drainSeconds) else {
                throw ValidationError("--drain-seconds has to be 0 to 3600.")
            }
            guard clients.map({ (1...4096).contains($0) }) ?? true else {
                throw ValidationError("--clients has to be 1 to 4096.")
            }
            guard bad.map({ ReceiverMix($0) != nil }) ?? true else {
                throw ValidationError("--bad has to be shares such as slow=5,hang=5,500=10, up to 100 together.")
            }
            guard killAt.map({ own && $0 > 0 && $0 < seconds }) ?? true else {
                throw ValidationError("--kill-at has to be less than --seconds, and needs --own.")
            }
            let isForOneRun = compare != nil || killAt != nil || hgrm != nil || report != nil || isolation
            guard findMax == nil || (!isForOneRun && bounds == nil) else {
                throw ValidationError(
                    "--find-max makes many runs: --assert, --compare, --isolation, --kill-at, --hgrm and --report are "
                        + "for one.")
            }
            guard findMax == nil || clients == nil else {
                throw ValidationError("--find-max is for rates, and --clients have none.")
            }
        }

        func run() async throws {
            let earlier = try compare.map(Self.earlier)
            let workload = try recorded.map { try Self.recorded($0, subjects ?? "") }
            let signals = EndingSignals()
            let daemon = own ? try OwnDaemon.start() : nil
            defer { daemon?.end() }
            let server = try daemon.map { try ServerOptions.parse(["--server", $0.address]) } ?? self.server
            var bench = LoadBench(command: self, server: server, stop: signals.stop)
            bench.workload = workload
            bench.syncMilliseconds = daemon.flatMap { LoadSetting.syncMilliseconds(in: $0.folder.path) }
            if let goal = findMax.flatMap({ LoadGoal($0) }) {
                let isFound = try await search(goal, bench)
                if let status = signals.status { throw ExitCode(status) }
                guard isFound else { throw ExitCode(1) }
                return
            }
            let interruption = daemon.flatMap { daemon in
                killAt.map { LoadInterruption(seconds: $0, kill: daemon.kill, restart: daemon.restart) }
            }
            let alone = isolation ? try await bench.run(rate: rate, healed: true) : nil
            let result = try await bench.run(rate: rate, interruption)
            try show(result, alone, earlier)
            if let status = signals.status { throw ExitCode(status) }
            let goal = bounds.flatMap { LoadGoal($0) }
            guard result.failures(of: goal).isEmpty, alone?.failures().isEmpty ?? true else { throw ExitCode(1) }
        }

        private func show(_ result: LoadReport, _ alone: LoadReport?, _ earlier: JSONValue?) throws {
            let goal = bounds.flatMap { LoadGoal($0) }
            let comparison = earlier.map { LoadComparison(result, with: $0) }
            let isolation = try alone.map {
                LoadComparison(result, with: try JSONValue(parsing: $0.json, limits: .configuration))
            }
            if server.json {
                Console.print(result.json(comparedWith: comparison, isolation: isolation, goal: goal))
            } else {
                for line in result.lines(of: goal) + (comparison?.lines ?? []) { Console.print(line) }
                if let isolation {
                    Console.print("good receivers beside the bad ones, and without them:")
                    for line in isolation.lines { Console.print("  \(line)") }
                }
            }
            if let report { try Console.write(result.html(of: goal), toFile: report) }
            if let hgrm {
                for (name, text) in result.distributions {
                    try Console.write(Array(text.utf8), toFile: Self.path(hgrm, for: name))
                }
            }
        }

        /// The workload of files.
        private static func recorded(_ path: String, _ subjects: String) throws -> LoadWorkload {
            var sessions: [LoadWorkload.Session] = []
            try SessionFile(path: path).forEach {
                sessions.append(LoadWorkload.Session(conditions: $0.conditions, state: $0.activationState))
            }
            let contents = try SessionFile.subjects(subjects).compactMap { $0?.text }
            guard (1...100_000).contains(sessions.count), !contents.isEmpty else {
                throw ValidationError("\(path) has to have 1 to 100000 sessions, and \(subjects) a content id.")
            }
            return LoadWorkload(recorded: path, sessions: sessions, contents: contents)
        }

        /// The report of an earlier run. A file that is none is told before the run.
        private static func earlier(_ path: String) throws -> JSONValue {
            guard let report = try? JSONValue(parsing: try Console.read(path), limits: .configuration),
                LoadComparison.isReport(report)
            else {
                Console.error("\(path) is no report of bench load --json with intervals.")
                throw ExitCode(1)
            }
            return report
        }

        /// The file of a distribution: the named one, or one beside it with another ending of the name.
        private static func path(_ path: String, for name: String) -> String {
            if name == "accept" { return path }
            let stem = path.hasSuffix(".hgrm") ? String(path.dropLast(5)) : path
            return "\(stem)-\(name).hgrm"
        }
    }
}

extension LoadPlan.Shape: ExpressibleByArgument {}

extension LoadWorkload.Kind: ExpressibleByArgument {}
