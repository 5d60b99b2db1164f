import Glibc
import HTTPTypes
import Hummingbird
package import NIOCore
import Router
import RouterPlugin
import Synchronization

extension API {
    /// Streams events as they occur.
    @Sendable func stream(_ request: Request, _ context: RouterdContext, _ caller: Caller) async throws -> Response {
        let filter = try StreamFilter.read(
            try request.repeatableQuery("application", "session", "type"), caller: caller)
        let format = ServerSentEvents(run: host.feed.run)
        var place: FeedPlace?
        if let id = request.sourceHeaders.first(where: { $0.name == "last-event-id" })?.value, !id.isEmpty {
            guard let known = format.place(of: id) else {
                throw Problem(.badRequest, "invalid-last-event-id", "Last-Event-ID is no id of this stream.")
            }
            place = known
        }
        let reader: FeedReader
        do {
            // The streams of an application count together, whichever of its keys they come with.
            let holder = caller.key.map { key in key.application.map { Array($0.text.utf8) } ?? key.digest }
            reader = try host.feed.open(after: place, of: caller.key?.application, by: holder)
        } catch {
            throw Problem(error)
        }
        authenticator.watch(context.channel, of: caller)
        let stream = EventStream(
            reader: reader, filter: filter, format: format, settings: streams, channel: context.channel)
        var headers: HTTPFields = [.contentType: EventStream.contentType, .cacheControl: "no-store"]
        // A buffering proxy would hold the events back.
        if let name = HTTPField.Name("x-accel-buffering") { headers[name] = "no" }
        return Response(status: .ok, headers: headers, body: ResponseBody(asyncSequence: stream))
    }
}

/// The timing of a stream.
package struct StreamSettings: Sendable {
    /// How long a stream without events stays silent.
    package var heartbeat = TimeAmount.seconds(DaemonLimits.heartbeatSeconds)
    /// How many heartbeats a client may leave unread.
    package var heartbeatsInVain = DaemonLimits.heartbeatsInVain
    /// How long a client may go on reading when the daemon stops.
    package var end = TimeAmount.seconds(DaemonLimits.streamEndSeconds)

    package init() {}

    /// Lets the kernel end the connection when the client's machine has taken no byte for as long as heartbeats are left unread:
    /// they fit into the kernel's buffer, and a machine that has gone closes nothing.
    package func limitSilence(of channel: any Channel) {
        let time = heartbeat.nanoseconds / 1_000_000 * Int64(heartbeatsInVain)
        let option = NIOBSDSocket.Option(rawValue: CInt(TCP_USER_TIMEOUT))
        channel.setOption(.tcpOption(option), value: SocketOptionValue(clamping: time)).whenFailure { _ in
            // The connection has ended meanwhile.
        }
    }
}

extension Problem {
    fileprivate init(_ refusal: FeedState.Refusal) {
        let seconds = DaemonLimits.streamRetrySeconds
        switch refusal {
        case .tooMany:
            self.init(
                .serviceUnavailable, "overloaded", "As many streams are open as there may be; try again.",
                retryAfter: seconds)
        case .tooManyOfCaller:
            self.init(
                .tooManyRequests, "too-many-streams", "As many streams are open with this key as there may be.",
                retryAfter: seconds)
        case .ended:
            self.init(.serviceUnavailable, "shutting-down", "The daemon is about to stop.", retryAfter: seconds)
        }
    }
}
