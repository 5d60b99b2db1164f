import Glibc
import Router

/// Tasks ask a shared registry while one changes it. Each answer is noted with the version that gave it; afterwards the
/// same changes are made to a plain list, which has to answer the same at that version. Built with the thread sanitizer,
/// which watches the memory meanwhile.
///
/// The last history happens among so many sessions that changes come in groups, and are foreseen. The list does without those
/// sessions, because no content that is asked for is theirs.
@main
struct RegistryRace {
    private static let readers = 3
    private static let questions = 800

    /// What a reader was told.
    private struct Answer: Sendable {
        var subject: Int
        var match: RegistryMatch?
    }

    static func main() async {
        let seeds = CommandLine.arguments.dropFirst().first.flatMap(UInt64.init) ?? 3
        var answered = 0
        for seed in 1...max(seeds, 1) + 1 {
            let history = History(seed: seed, isCrowded: seed > max(seeds, 1))
            let (answers, versions) = await race(history)
            answered += answers.values.reduce(0) { $0 + $1.count }
            let faults = faults(in: answers, of: history)
            for fault in faults.prefix(5) { print("seed \(seed): \(fault)") }
            // Readers who all saw one version were not there while something changed.
            guard faults.isEmpty, versions > 10 else {
                print("seed \(seed): \(faults.count) wrong answers, \(versions) versions seen")
                exit(1)
            }
        }
        print("\(answered) answers while sessions changed, none wrong")
    }

    /// Lets readers ask while the history happens; their answers by version, and how many versions were seen.
    private static func race(_ history: History) async -> (answers: [UInt64: [Answer]], versions: Int) {
        var registry = IndexedRegistry()
        registry.reserve(history.crowd.count)
        for entry in history.crowd { registry.insert(entry) }
        let start = registry.version
        let shared = SharedRegistry(registry) { sched_yield() }
        var answers: [UInt64: [Answer]] = [:]
        await withTaskGroup(of: [(UInt64, Answer)].self) { group in
            group.addTask {
                for first in stride(from: 0, to: history.changes.count, by: history.changesTogether) {
                    let group = first..<min(first + history.changesTogether, history.changes.count)
                    shared.change { registry in
                        if group.count > 1 { registry.foresee(group) { history.changes[$0].session } }
                        for number in group { history.changes[number].apply(to: &registry) }
                    }
                    await Task.yield()
                }
                return []
            }
            for reader in 0..<readers {
                group.addTask {
                    var told: [(UInt64, Answer)] = []
                    for question in 0..<questions {
                        let subject = (question &* 7 &+ reader) % History.queries.count
                        // The best of all sessions may be one of the crowd.
                        if subject == 0, !history.crowd.isEmpty { continue }
                        told.append(
                            shared.read { registry in
                                let match = registry.best(for: History.queries[subject])
                                return (registry.version - start, Answer(subject: subject, match: match))
                            })
                        await Task.yield()
                    }
                    return told
                }
            }
            for await told in group {
                for (version, answer) in told { answers[version, default: []].append(answer) }
            }
        }
        return (answers, answers.count)
    }

    /// Answers that a plain list would not have given.
    private static func faults(in answers: [UInt64: [Answer]], of history: History) -> [String] {
        var (linear, faults) = (LinearRegistry(), [String]())
        func check() {
            for answer in answers[linear.version] ?? [] {
                let expected = linear.best(for: History.queries[answer.subject])
                guard answer.match != expected else { continue }
                faults.append(
                    "version \(linear.version): \(String(describing: answer.match)), not \(String(describing: expected))"
                )
            }
        }
        check()
        for change in history.changes {
            change.apply(to: &linear)
            check()
        }
        return faults
    }
}
