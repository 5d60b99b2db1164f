import DeliveryCurl
import Router
import RouterPlugin
package import RouterdClient

/// Follows the daemon's event stream over any number of connections.
package struct StreamClient: Sendable {
    private let server: String
    private let path: String
    private let headers: [HeaderField]

    /// - Parameter path: The path with its query.
    package init(server: String, path: String, key: String?) {
        self.server = server.hasSuffix("/") ? String(server.dropLast()) : server
        self.path = path
        headers = key.map { [HeaderField("authorization", "Bearer \($0)")] } ?? []
    }

    /// How one connection ended.
    package enum End: Equatable, Sendable {
        /// The closure `take` wants no more events.
        case enough
        /// The stream has ended or broken off, or the daemon has no room for it now: reconnect after `waitSeconds`.
        case lost(reason: String, waitSeconds: Int)
        /// The daemon refuses the stream, and would refuse it again.
        case refused(status: Int, body: [UInt8])
    }

    /// Reads one connection to its end. The reader provides the id to resume after, and holds the last id afterwards.
    ///
    /// - Parameters:
    ///   - connected: Called when the daemon has accepted the request.
    ///   - take: Called with each event; returns whether to go on.
    package func follow(
        _ reader: inout EventStreamReader, connected: @escaping () -> Void,
        take: @escaping (EventStreamReader.Event) -> Bool
    ) -> End {
        var fields = headers + [HeaderField("accept", "text/event-stream")]
        if let id = reader.lastID { fields.append(HeaderField("last-event-id", id)) }
        let download = CurlDownload(
            url: server + path, headers: fields, silenceSeconds: DaemonLimits.streamSilenceSeconds)
        var (current, refusal, hasEnough, isConnected) = (reader, [UInt8](), false, false)
        let end = download.run { status, bytes in
            guard status == 200 else {
                refusal += bytes.prefix(DaemonLimits.refusalBytes - refusal.count)
                return true
            }
            if !isConnected { connected() }
            isConnected = true
            for event in current.take(bytes) where !hasEnough { hasEnough = !take(event) }
            return !hasEnough
        }
        reader = current
        if hasEnough { return .enough }
        switch end.status {
        case 200?: return .lost(reason: end.failure?.message ?? "the stream has ended", waitSeconds: 1)
        case nil: return .lost(reason: end.failure?.message ?? "there was no answer", waitSeconds: 1)
        case 429?, 503?: return .lost(reason: "there is no room for it", waitSeconds: end.retryAfterSeconds ?? 1)
        case let status?: return .refused(status: status, body: refusal)
        }
    }
}
