import Dispatch
import Router
import RouterPlugin

/// Threads offer commands while the owner takes them, asleep whenever there are none.
///
/// Law: the inbox is full for an entry, or the entry is answered once.
struct InboxRace {
    private static let senders = 3
    private static let entries = 300

    func run() -> [String] {
        let inbox = Inbox(limit: 8)
        let bell = DispatchSemaphore(value: 0)
        let (answered, refused, sending) = (Count(), Count(), Count())
        let senders = (0..<Self.senders).map { number -> @Sendable () -> Void in
            {
                for entry in 0..<Self.entries {
                    let command = Command.cancel(NotificationID(unchecked: "ntf_\(number)_\(entry)"))
                    switch inbox.offer(Inbox.Entry(commands: [command]) { _ in answered.add() }) {
                    case .takenWakeOwner: bell.signal()
                    case .taken: break
                    case .full: refused.add()
                    }
                }
                sending.add()
                // The owner looks once more at the end.
                bell.signal()
            }
        }
        let owner: @Sendable () -> Void = {
            while sending.value < Self.senders {
                bell.wait()
                while true {
                    let entries = inbox.take(commands: 4, shared: 4)
                    if entries.isEmpty { break }
                    for entry in entries { entry.answer?([.none]) }
                }
            }
        }
        Race.inParallel(senders + [owner])
        for entry in inbox.take(commands: .max, shared: .max) { entry.answer?([.none]) }
        let (total, met) = (Self.senders * Self.entries, answered.value + refused.value)
        return met == total ? [] : ["\(total) entries, \(answered.value) answered, \(refused.value) refused"]
    }
}
