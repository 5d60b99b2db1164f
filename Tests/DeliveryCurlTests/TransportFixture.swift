import DeliveryCurl
import Router
import Testing

/// Runs `body` with a transport that is closed afterwards.
func withTransport<Value>(
    slots: Int = 8, waitingLimit: Int = 16_384, authority: String? = nil, egress: EgressPolicy = .grantingLoopback,
    _ body: (CurlTransport) async throws -> Value
) async throws -> Value {
    let transport = try CurlTransport(
        configuration: CurlConfiguration(
            egress: egress, slots: slots, waitingLimit: waitingLimit, certificateAuthorityFile: authority))
    do {
        let value = try await body(transport)
        await transport.shutdown(gracePeriodMilliseconds: 0)
        return value
    } catch {
        await transport.shutdown(gracePeriodMilliseconds: 0)
        throw error
    }
}

/// Sends one request to a server that follows the script.
func exchange(
    body: String = "{}", headers: [HeaderField] = [], timeoutMilliseconds: Int = 120_000, responseLimit: Int = 1024,
    script: @escaping HostileServer.Script
) async throws -> TransferResult {
    try await HostileServer.with(script: script) { server in
        try await withTransport { transport in
            await transport.send(
                WebhookRequest(
                    to: server.url(), headers: headers, body: Array(body.utf8),
                    timeoutMilliseconds: timeoutMilliseconds, responseLimit: responseLimit))
        }
    }
}

extension WebhookRequest {
    /// A request of no particular content, which a busy machine does not outlast.
    init(
        to url: String, headers: [HeaderField] = [], body: [UInt8] = Array("{}".utf8),
        connectTimeoutMilliseconds: Int = 60_000, timeoutMilliseconds: Int = 120_000,
        responseLimit: Int = RouterLimits.responseBytes
    ) {
        self.init(
            url: url, headers: headers, body: body, connectTimeoutMilliseconds: connectTimeoutMilliseconds,
            timeoutMilliseconds: timeoutMilliseconds, responseLimit: responseLimit)
    }
}

extension TransferResult {
    var response: ReceivedResponse? {
        if case .response(let response) = outcome { response } else { nil }
    }

    var failure: TransferFailure? {
        if case .failure(let failure) = outcome { failure } else { nil }
    }
}
