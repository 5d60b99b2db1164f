import DeliveryCurl
import Router
import RouterPlugin

/// The cost of delivery alone: bodies are posted by libcurl, several at once, with nothing else done.
package struct PostFloor: Sendable {
    private let url: String
    private let count: Int
    private let concurrency: Int

    /// - Parameters:
    ///   - url: An endpoint that answers every request with a status of success.
    ///   - count: How many requests, at least `concurrency`.
    ///   - concurrency: How many are in flight at once.
    package init(url: String, count: Int, concurrency: Int) {
        self.url = url
        self.count = count
        self.concurrency = concurrency
    }

    /// Processor time of a request, in microseconds; nil if a request failed.
    package func microsecondsEach() async throws -> Double? {
        let configuration = CurlConfiguration(egress: .unguarded, slots: concurrency, waitingLimit: count)
        let transport = try CurlTransport(configuration: configuration)
        let request = WebhookRequest(
            url: url, headers: [HeaderField("content-type", "application/json")], body: BenchSample.payload)
        let share = count / concurrency
        let start = ProcessorTime.now
        // The senders are children of the group, which ends when each has posted its share.
        let failures = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<concurrency { group.addTask { await Self.post(request, share, by: transport) } }
            return await group.reduce(0, +)
        }
        let spent = ProcessorTime.now - start
        transport.close()
        return failures == 0 ? spent / Double(share * concurrency) : nil
    }

    /// Posts one after another; returns how many requests failed.
    private static func post(_ request: WebhookRequest, _ count: Int, by transport: CurlTransport) async -> Int {
        var failures = 0
        for _ in 0..<count {
            let outcome = await transport.send(request).outcome
            guard case .response(let response) = outcome, (200...299).contains(response.status) else {
                failures += 1
                continue
            }
        }
        return failures
    }
}
