import DeliveryCurl
package import Router
import RouterPlugin

/// A client of the daemon's HTTP API, over the same transport that sends webhooks.
package struct APIClient: Sendable {
    private let server: String
    private let key: String?
    private let transport: CurlTransport

    package init(server: String, key: String?) throws {
        self.server = server.hasSuffix("/") ? String(server.dropLast()) : server
        self.key = key
        transport = try CurlTransport(configuration: CurlConfiguration(egress: .unguarded, slots: 1))
    }

    /// Posts a body; returns the status and the answer, whatever the status is.
    package func post(
        _ path: String, headers: [HeaderField] = [], body: [UInt8]
    ) async throws -> (status: Int, body: [UInt8]) {
        var fields = [HeaderField("content-type", "application/json")] + headers
        if let key { fields.append(HeaderField("authorization", "Bearer \(key)")) }
        let request = WebhookRequest(
            url: server + path, headers: fields, body: body, timeoutMilliseconds: 30_000,
            responseLimit: DaemonLimits.batchBytes)
        switch await transport.send(request).outcome {
        case .response(let response): return (response.status, response.body)
        case .failure(let failure): throw APIClientError(server: server, failure: failure)
        }
    }

    package func close() { transport.close() }
}

/// The daemon could not be asked.
package struct APIClientError: Error, CustomStringConvertible {
    package var server: String
    package var failure: TransferFailure

    package var description: String { "\(server) cannot be reached: \(failure.message)" }
}
