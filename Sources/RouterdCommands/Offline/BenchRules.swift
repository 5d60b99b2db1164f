import ArgumentParser
import DeliveryCurl
import Foundation
import Glibc
import Logging
import Router
import RouterPlugin
import RouterdApp
import RouterdBench

extension Bench {
    struct Rules: PluginCommand {
        static let configuration = CommandConfiguration(
            commandName: "rules", abstract: "Measure decisions under the rules of a file, in this process.",
            discussion: """
                The first rules of the file decide about one notification, as many times as --decisions says, for each number of \
                rules; a line of JSON for each has the times of a decision in nanoseconds. Rules in processes and behind URLs are \
                started and asked as a daemon does. No rule knows a history.

                EXAMPLES
                  routerd bench rules rules.yaml
                  routerd bench rules rules.yaml --count 0 --count 20 --sessions 100000
                """)

        @Argument(help: "The file in YAML or JSON.")
        var file: String
        @Option(help: "How many rules of the file decide, from 0 on; may be repeated. Left out: 0, 1, 5, 20 and all.")
        var count: [Int] = []
        @Option(help: "How many decisions are made.")
        var decisions = 10_000
        @Option(help: "How many sessions there are.")
        var sessions = 1000
        @Option(help: "The payload of the notification.")
        var payload = #"{"type": "comment", "sender": "s1"}"#

        func validate() throws {
            try Bounds.check(decisions, "--decisions")
            try Bounds.check(sessions, "--sessions")
            guard count.allSatisfy({ $0 >= 0 }) else { throw ValidationError("--count must be at least 0.") }
        }

        func run(with plugins: PluginSet) async throws {
            let rules: [any RoutingRule]
            do {
                rules = try RulesFile(try ConfigurationFile(path: file), kinds: plugins.rules).rules
            } catch {
                Console.error("\(error)")
                throw ExitCode(1)
            }
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("routerd-bench-\(getpid())").path
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let logger = LogFormat.text.logger(at: .warning) { Console.error($0) }
            let curl = CurlConfiguration(egress: EgressPolicy(grants: EgressGrant.loopback))
            let transport = try CurlTransport(configuration: curl)
            let trial = RuleTrial(sessions: sessions, payload: Array(payload.utf8))
            let counts = count.isEmpty ? [0, 1, 5, 20].filter { $0 < rules.count } + [rules.count] : count
            for count in counts {
                let first = Array(rules.prefix(count))
                let desk = try RuleDesk(first, folder: folder, transport: transport, logger: logger)
                let asked = desk.members.isEmpty ? nil : desk
                Console.print(await trial.report(under: first, asking: asked, decisions: decisions))
            }
            transport.close()
        }
    }
}
