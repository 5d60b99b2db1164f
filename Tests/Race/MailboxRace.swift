import Glibc
import Router

/// Threads leave requests, cancellations and addresses for a loop that sleeps between them, and goes on after its end.
///
/// Law: the completion of each request is called once.
struct MailboxRace {
    private static let senders = 3
    private static let requests = 200
    private static let failure = TransferFailure(kind: .other, message: "no request is sent here")

    func run() -> [String] {
        let mailbox: Mailbox
        do { mailbox = try Mailbox() } catch { return ["\(error)"] }
        let completed = Count()
        let senders = (0..<Self.senders).map { number -> @Sendable () -> Void in
            {
                for request in 0..<Self.requests {
                    let id = UInt64(number * Self.requests + request)
                    let webhook = WebhookRequest(url: "http://127.0.0.1/", headers: [], body: [])
                    let transfer = Transfer(id: id, request: webhook) { _ in completed.add() }
                    if !mailbox.post(transfer) { transfer.fail(Self.failure) }
                    if request % 3 == 0 { mailbox.cancel(id) }
                    if request % 5 == 0 { mailbox.found("a.example", .addresses(["127.0.0.1"])) }
                }
                if number == 0 { mailbox.requestStop(by: 1) }
            }
        }
        Race.inParallel(senders + [{ Self.loop(over: mailbox) }])
        let total = Self.senders * Self.requests
        return completed.value == total ? [] : ["\(total) requests, \(completed.value) completions"]
    }

    private static func loop(over mailbox: Mailbox) {
        var deadline: UInt64?
        while deadline == nil {
            let mail = mailbox.take()
            deadline = mail.stopDeadline
            for transfer in mail.arrivals { transfer.fail(Self.failure) }
            guard deadline == nil, mailbox.fallAsleep(knowing: nil) else { continue }
            var bell = pollfd(fd: mailbox.bell, events: Int16(POLLIN), revents: 0)
            poll(&bell, 1, -1)
            mailbox.hear()
        }
        for transfer in mailbox.end().arrivals { transfer.fail(Self.failure) }
    }
}
