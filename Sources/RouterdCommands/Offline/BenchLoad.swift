import ArgumentParser
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
                that number of clients send one request after another (a closed loop). At the end everything that was answered 202 \
                must have come, to the right session and in order: else the exit status is 1. The application stays registered.

                Times are told without a verdict if the generator was the bottleneck: if one request in a hundred was sent more \
                than 1 ms late, or a thread took more than 80 % of a core. --find-max looks for the highest rate that meets a goal \
                for the answer 202, such as p99=50ms, with nothing lost.

                EXAMPLES
                  routerd bench load --rate 500 --seconds 10
                  routerd bench load --rate 2000 --sessions 1000 --report report.html
                  routerd bench load --own --rate 500 --bad slow=5,hang=5,500=10,429=5
                  routerd bench load --own --find-max p99=50ms
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
        @Option(help: "Requests under way at once; more wait, and their time runs.")
        var connections = 128
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
        @Option(help: "Look for the highest rate with such acceptances, from --rate on.")
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
            guard (64...1_000_000).contains(payloadBytes) else {
                throw ValidationError("--payload-bytes has to be 64 to 1000000.")
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
            guard findMax.map({ LoadGoal($0) != nil }) ?? true else {
                throw ValidationError("--find-max has to be a percentile and its bound, such as p99=50ms.")
            }
            guard killAt.map({ own && $0 > 0 && $0 < seconds }) ?? true else {
                throw ValidationError("--kill-at has to be less than --seconds, and needs --own.")
            }
            guard findMax == nil || (compare == nil && killAt == nil && hgrm == nil && report == nil) else {
                throw ValidationError(
                    "--find-max makes many runs: --compare, --kill-at, --hgrm and --report are for one.")
            }
            guard findMax == nil || clients == nil else {
                throw ValidationError("--find-max is for rates, and --clients have none.")
            }
        }

        func run() async throws {
            let earlier = try compare.map(Self.earlier)
            let daemon = own ? try OwnDaemon.start() : nil
            defer { daemon?.end() }
            let server = try daemon.map { try ServerOptions.parse(["--server", $0.address]) } ?? self.server
            if let goal = findMax.flatMap({ LoadGoal($0) }) { return try await search(goal, server) }
            let interruption = daemon.flatMap { daemon in
                killAt.map { LoadInterruption(seconds: $0, kill: daemon.kill, restart: daemon.restart) }
            }
            let result = try await load(server, rate: rate, interruption)
            let comparison = earlier.map { LoadComparison(result, with: $0) }
            if self.server.json {
                Console.print(result.json(comparedWith: comparison))
            } else {
                for line in result.lines + (comparison?.lines ?? []) { Console.print(line) }
            }
            if let report { try Console.write(result.html, toFile: report) }
            if let hgrm {
                for (name, text) in result.distributions {
                    try Console.write(Array(text.utf8), toFile: Self.path(hgrm, for: name))
                }
            }
            guard result.isCorrect else { throw ExitCode(1) }
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

        private func load(
            _ server: ServerOptions, rate: Double, _ interruption: LoadInterruption? = nil
        ) async throws -> LoadReport {
            let address = try ListenAddress(option: "--receive", receive)
            var plan = LoadPlan(
                rate: rate, seconds: seconds, sessions: sessions, payloadBytes: payloadBytes, seed: seed)
            plan.shape = shape
            plan.clients = clients
            if let mix = bad.flatMap({ ReceiverMix($0) }) { plan.receivers = mix }
            let client = try server.client(requests: max(connections, clients ?? 0))
            defer { client.close() }
            var setting = LoadSetting.current(arguments: CommandLine.arguments, at: SteadyClock().wall)
            // A key of one application may not ask; the report then leaves the version out.
            if let (status, body) = try? await client.send(.get, "/v1/status", body: []), status == 200 {
                setting.daemonVersion = (try? JSONValue(parsing: body))?["version"]?.asString
            }
            let run = LoadRun(
                plan: plan, client: client, application: application, drainSeconds: drainSeconds, setting: setting,
                display: ProgressDisplay(replacesText: Terminal.showsProgress) { text in
                    if Terminal.showsProgress { Terminal.progress(text) } else { Console.error(text) }
                }, interruption: interruption)
            do { return try await run.run(receivingAt: address) } catch {
                Console.error("\(error)")
                throw ExitCode(1)
            }
        }

        /// Runs at one rate after another, and prints each outcome and the highest rate that met the goal.
        private func search(_ goal: LoadGoal, _ server: ServerOptions) async throws {
            var search = RateSearch(from: rate)
            var runs: [(rate: Double, outcome: RateSearch.Outcome, milliseconds: Double)] = []
            while let rate = search.next {
                let result = try await load(server, rate: rate)
                let outcome = result.outcome(goal)
                search.note(outcome)
                runs.append((rate, outcome, result.acceptMilliseconds(goal.percentile)))
                let reason = result.noVerdict.map { ": \($0)" } ?? ""
                Console.error(
                    "\(Int(rate)) a second: \(runs[runs.count - 1].milliseconds) ms, \(outcome.rawValue)\(reason)")
            }
            if self.server.json {
                let body = JSONWriter.object { object in
                    object.field("goal", goal.text)
                    object.field("sustainedPerSecond", search.sustained)
                    object.field("exceededPerSecond", search.exceeded)
                    object.field("boundedByGenerator", search.isBoundedByGenerator)
                    object.array("runs") { list in
                        for run in runs {
                            list.object {
                                $0.field("rate", run.rate)
                                $0.field("outcome", run.outcome.rawValue)
                                $0.field("milliseconds", run.milliseconds)
                            }
                        }
                    }
                }
                Console.print(body)
            } else {
                let found = search.sustained.map { "\(Int($0)) notifications a second" } ?? "no rate"
                let bound = search.isBoundedByGenerator ? "; the generator could not do more, so the daemon may" : ""
                Console.print("\(found) with \(goal.text), nothing lost\(bound)")
            }
            guard search.sustained != nil else { throw ExitCode(1) }
        }
    }
}

extension LoadPlan.Shape: ExpressibleByArgument {}
