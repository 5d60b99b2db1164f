import Dispatch
import Foundation
import Glibc

/// Exercises the types that threads share, from several threads at once; `make race` builds it with the thread sanitizer.
///
/// Each exercise also checks a law, such as that each command is answered once: a lost wake-up is no data race.
@main
struct Race {
    private static let rounds = 20

    static func main() async {
        for round in 1...rounds {
            expect(InboxRace().run(), "round \(round): Inbox")
            expect(MailboxRace().run(), "round \(round): Mailbox")
            expect(await FeedRace().run(), "round \(round): EventFeed")
            expect(ObserverRace().run(), "round \(round): ObserverDispatcher")
        }
        print("race: Inbox, Mailbox, EventFeed and ObserverDispatcher, \(rounds) rounds, no race")
    }

    private static func expect(_ faults: [String], _ place: String) {
        guard !faults.isEmpty else { return }
        for fault in faults.prefix(5) { print("\(place): \(fault)") }
        exit(1)
    }

    /// Runs each body on a thread of its own, and returns when all have returned.
    static func inParallel(_ bodies: [@Sendable () -> Void]) {
        let group = DispatchGroup()
        for body in bodies {
            group.enter()
            Thread {
                body()
                group.leave()
            }.start()
        }
        group.wait()
    }
}

/// A count that threads share.
final class Count: Sendable {
    private let count = Mutex(0)

    var value: Int { count.withLock { $0 } }

    func add(_ number: Int = 1) { count.withLock { $0 += number } }
}
