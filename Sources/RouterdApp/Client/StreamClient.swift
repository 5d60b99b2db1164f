import DeliveryCurl
import Router
import RouterPlugin

/// Follows the daemon's stream, over as many connections as it takes.
package struct StreamClient: Sendable {
    private let server: String
    private let path: String
    private let headers: [HeaderField]

    /// - Parameter path: With its query.
    package init(server: String, path: String, key: String?) {
        self.server = server.hasSuffix("/") ? String(server.dropLast()) : server
        self.path = path
        headers = key.map { [HeaderField("authorization", "Bearer \($0)")] } ?? []
    }

    /// How one connection ended.
    package enum End: Equatable, Sendable {
        /// `take` has enough.
        case enough
        /// The stream has ended or broken off, or there is no room for it now: it is worth coming back, after so many
        /// seconds.
        case lost(reason: String, waitSeconds: Int)
        /// The daemon refuses it, and will again.
        case refused(status: Int, body: [UInt8])
    }

    /// Reads one connection to its end; the reader says where it goes on, and knows afterwards where it has come to.
    ///
    /// - Parameters:
    ///   - connected: Is called when the daemon has taken the request.
    ///   - take: Is given each event, and says whether to go on.
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
