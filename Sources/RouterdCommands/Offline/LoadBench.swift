import ArgumentParser
import Router
import RouterPlugin
import RouterdApp
import RouterdBench

/// The runs of a `bench load`, with its options.
struct LoadBench {
    let command: Bench.Load
    let server: ServerOptions
    let stop: LoadStop
    /// The workload of files; nil for one of the command's own.
    var workload: LoadWorkload?
    /// The time of a durable write beside the database of a daemon of its own.
    var syncMilliseconds: Double?

    /// - Parameter healed: Whether the bad receivers take everything in this run.
    func run(
        rate: Double, _ interruption: LoadInterruption? = nil, healed: Bool = false
    ) async throws -> LoadReport {
        let address = try ListenAddress(option: "--receive", command.receive)
        let plan = self.plan(rate: rate, healed: healed)
        let requests = max(command.connections, command.clients ?? 0)
        let clients = try (0..<command.generators).map { _ in
            try server.client(requests: max(requests / command.generators, 1))
        }
        defer { for client in clients { client.close() } }
        var setting = LoadSetting.current(arguments: CommandLine.arguments, at: SteadyClock().wall)
        setting.syncMilliseconds = syncMilliseconds
        // A key of one application may not ask; the report then leaves the version out.
        if let (status, body) = try? await clients[0].send(.get, "/v1/status", body: []), status == 200 {
            setting.daemonVersion = (try? JSONValue(parsing: body))?["version"]?.asString
        }
        let run = LoadRun(
            id: String(UInt64.random(in: 0...UInt64.max), radix: 36), plan: plan, clients: clients,
            application: command.application, drainSeconds: command.drainSeconds, setting: setting,
            display: ProgressDisplay(replacesText: Terminal.showsProgress) { text in
                if Terminal.showsProgress { Terminal.progress(text) } else { Console.error(text) }
            }, interruption: interruption, stop: stop)
        do { return try await run.run(receivingAt: address) } catch {
            Console.error("\(error)")
            throw ExitCode(1)
        }
    }

    private func plan(rate: Double, healed: Bool) -> LoadPlan {
        let workload =
            self.workload
            ?? LoadWorkload(command.predicates, sessions: command.sessions, seed: command.seed)
        var plan = LoadPlan(
            rate: rate, seconds: command.seconds, workload: workload, payloadBytes: command.payloadBytes,
            seed: command.seed)
        plan.shape = command.shape
        plan.clients = command.clients
        plan.churn = command.churn
        (plan.generators, plan.connections) = (command.generators, command.connections)
        if let mix = command.bad.flatMap({ ReceiverMix($0) }) { plan.receivers = mix }
        plan.healsReceivers = healed
        return plan
    }
}

extension Bench.Load {
    /// Runs at one rate after another, and prints each outcome and the highest rate within the bounds; false if it is not known.
    func search(_ goal: LoadGoal, _ bench: LoadBench) async throws -> Bool {
        var search = RateSearch(from: rate)
        var runs: [(rate: Double, outcome: RateSearch.Outcome, reasons: [String])] = []
        while !bench.stop.endsSending, let rate = search.next {
            let result = try await bench.run(rate: rate)
            let outcome = result.outcome(goal)
            search.note(outcome)
            let reasons = result.failures(of: goal) + (result.noVerdict.map { [$0] } ?? [])
            runs.append((rate, outcome, reasons))
            let p99 = result.acceptMilliseconds(99)
            Console.error(
                "\(Int(rate)) a second: \(outcome.rawValue), p99 \(p99) ms"
                    + (reasons.isEmpty ? "" : ": \(reasons.joined(separator: "; "))"))
        }
        let isKnown =
            search.sustained != nil && !search.isBoundedByGenerator && !search.hasTooFew
            && !bench.stop.endsSending
        if server.json {
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
                            $0.array("reasons") { list in for reason in run.reasons { list.element(reason) } }
                        }
                    }
                }
            }
            Console.print(body)
        } else {
            let found = search.sustained.map { "\(Int($0)) notifications a second" } ?? "no rate"
            var bound = search.isBoundedByGenerator ? "; NO VERDICT beyond it: the generator could not do more" : ""
            if search.hasTooFew {
                bound += "; a run has too few requests: more --seconds, or a higher --rate to begin with"
            }
            Console.print("\(found) with \(goal.text)\(bound)")
        }
        return isKnown
    }
}
