import Router
import RouterPlugin
import RouterdApp

/// The requests of a run, and the waits for them.
extension LoadRun {
    private var path: String { "/v1/applications/\(application)/notifications?device=\(device)" }

    /// The longest time for which a sleep does not look whether the run is to end.
    private static let slice: UInt64 = 100_000_000

    /// Waits until it is time; false if the sending ends before.
    func wait(until due: UInt64, _ books: LoadBooks) async throws -> Bool {
        while !stop.endsSending {
            let now = books.now
            guard due > now else { return true }
            try await Task.sleep(nanoseconds: min(due - now, Self.slice))
        }
        return false
    }

    /// Ends the daemon when it is time, and marks its end and its return.
    func interrupt(from start: UInt64, _ books: LoadBooks) async throws {
        guard let interruption else { return }
        guard try await wait(until: start + UInt64(interruption.seconds * 1e9), books) else { return }
        try await interruption.kill()
        books.write { $0.mark("the daemon was killed", at: books.now) }
        try await interruption.restart()
        books.write { $0.mark("the daemon listens again", at: books.now) }
    }

    /// Sends every request when it is due, or as soon after as can be, each sender its share; returns how many.
    func offer(from start: UInt64, _ books: LoadBooks) async throws -> Int {
        let (arrivals, payloads) = (plan.arrivals(), LoadPayloads(plan))
        return try await withThrowingTaskGroup(of: Int.self) { group in
            for (place, client) in clients.enumerated() {
                group.addTask {
                    var (count, progress) = (0, LoadProgress(plan: plan, display: display))
                    for number in stride(from: place, to: arrivals.count, by: clients.count) {
                        let arrival = arrivals[number]
                        if place == 0 { progress.show(at: books.now) { books.copy } }
                        guard try await wait(until: start + arrival.due, books) else { break }
                        let request = SentRequest(
                            content: arrival.content, due: start + arrival.due, at: books.now)
                        books.write { $0.sent(due: request.due, at: request.at) }
                        count += 1
                        client.post(path, body: payloads[arrival.content]) { result in
                            Self.note(result, request, books)
                        }
                    }
                    return count
                }
            }
            return try await group.reduce(0, +)
        }
    }

    /// Lets clients send, each its next request after the answer to the last one; returns how many were sent.
    func offer(with number: Int, from start: UInt64, _ books: LoadBooks) async throws -> Int {
        let payloads = LoadPayloads(plan)
        let end = start + UInt64(plan.seconds * 1e9)
        return await withTaskGroup(of: Int.self) { group in
            for place in 0..<number {
                let client = clients[place % clients.count]
                group.addTask {
                    var count = 0
                    for content in plan.contents(ofClient: place) {
                        let now = books.now
                        guard now < end, !stop.endsSending else { break }
                        count += 1
                        let request = SentRequest(content: content, due: now, at: now)
                        books.write { $0.sent(due: now, at: now) }
                        await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
                            client.post(path, body: payloads[content]) { result in
                                Self.note(result, request, books)
                                done.resume()
                            }
                        }
                    }
                    return count
                }
            }
            return await group.reduce(0, +)
        }
    }

    private static func note(_ result: TransferResult, _ request: SentRequest, _ books: LoadBooks) {
        let now = books.now
        // The transport counts from when a request has a connection of its own.
        let spent = UInt64(clamping: result.metrics.total) &* 1000
        let begun = max(request.at, now &- min(spent, now))
        if result.metrics.total > 0 { books.write { $0.waited(begun - request.at) } }
        switch result.outcome {
        case .failure(let failure): books.write { $0.leaveUnanswered(failure.kind.rawValue) }
        case .response(let response):
            guard response.status == 202,
                let id = (try? JSONValue(parsing: response.body))?["id"]?.asString
            else { return books.write { $0.refuse(response.status) } }
            // Receivers know the delivery, not the notification.
            books.accept(Identity.delivery(of: NotificationID(unchecked: id)), request, begun: begun, at: now)
        }
    }

    /// Waits until every request has been answered and every webhook has come, or until the waiting time is over.
    func drain(_ books: LoadBooks, offered: Int) async throws {
        var progress = LoadProgress(plan: plan, display: display)
        let end = books.now + UInt64(drainSeconds * 1e9)
        while books.now < end, !stop.endsWaiting, !books.isClosed(after: offered) {
            progress.show(at: books.now) { books.copy }
            try await Task.sleep(for: .milliseconds(50))
        }
        progress.end()
    }
}
