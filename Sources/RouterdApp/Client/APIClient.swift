import DeliveryCurl
package import Router
import RouterPlugin

/// A client of the daemon's HTTP API, over the same transport that sends webhooks.
package struct APIClient: Sendable {
    private let server: String
    private let key: String?
    private let transport: CurlTransport

    /// - Parameter requests: How many requests run at once; others wait until one of them ends.
    package init(server: String, key: String?, requests: Int = 1) throws {
        self.server = server.hasSuffix("/") ? String(server.dropLast()) : server
        self.key = key
        transport = try CurlTransport(
            configuration: CurlConfiguration(
                egress: .unguarded, slots: requests, waitingLimit: DaemonLimits.clientRequests))
    }

    /// Sends a body; returns the status and the answer, whatever the status is.
    package func send(
        _ method: WebhookRequest.Method, _ path: String, headers: [HeaderField] = [], body: [UInt8]
    ) async throws -> (status: Int, body: [UInt8]) {
        switch await transport.send(request(method, path, headers, body)).outcome {
        case .response(let response): return (response.status, response.body)
        case .failure(let failure): throw APIClientError(server: server, failure: failure)
        }
    }

    /// Posts a body and returns at once; `completion` is called once, on a thread of the transport.
    package func post(
        _ path: String, body: [UInt8], completion: @escaping @Sendable (TransferResult) -> Void
    ) {
        transport.start(request(.post, path, [], body), completion: completion)
    }

    private func request(
        _ method: WebhookRequest.Method, _ path: String, _ headers: [HeaderField], _ body: [UInt8]
    ) -> WebhookRequest {
        var fields = [HeaderField("content-type", "application/json")] + headers
        if let key { fields.append(HeaderField("authorization", "Bearer \(key)")) }
        var request = WebhookRequest(
            url: server + path, headers: fields, body: body, timeoutMilliseconds: 30_000,
            responseLimit: DaemonLimits.batchBytes)
        request.method = method
        return request
    }

    package func close() { transport.close() }
}

/// The daemon could not be reached.
package struct APIClientError: Error, CustomStringConvertible {
    package var server: String
    package var failure: TransferFailure

    package var description: String { "\(server) cannot be reached: \(failure.message)" }
}
