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
                Registers an application with so many sessions, whose webhooks come to this process, and posts notifications at \
                times that do not depend on the answers (an open loop). Times count from when a request was due. At the end \
                everything that was answered 202 must have come: else the exit status is 1. The application stays \
                registered.

                EXAMPLES
                  routerd bench load --rate 500 --seconds 10
                  routerd bench load --rate 2000 --sessions 1000 --report report.html
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
        @Option(help: "What times and sessions are drawn from.")
        var seed: UInt64 = 1
        @Option(help: "A file for the report as a page.")
        var report: String?

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
        }

        func run() async throws {
            let address = try ListenAddress(option: "--receive", receive)
            let plan = LoadPlan(
                rate: rate, seconds: seconds, sessions: sessions, payloadBytes: payloadBytes, seed: seed)
            let client = try server.client(requests: connections)
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
                })
            let result: LoadReport
            do { result = try await run.run(receivingAt: address) } catch {
                Console.error("\(error)")
                throw ExitCode(1)
            }
            if server.json { Console.print(result.json) } else { for line in result.lines { Console.print(line) } }
            if let report { try Console.write(result.html, toFile: report) }
            guard result.isConserved else { throw ExitCode(1) }
        }
    }
}
