import NIOCore
import Synchronization

/// The connections of a listener.
///
/// Thread-safe.
final class OpenConnections: Sendable {
    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isEnding = false
    }

    private let state = Mutex(State())

    func add(_ channel: any Channel) {
        let isEnding = state.withLock {
            $0.channels[ObjectIdentifier(channel)] = channel
            return $0.isEnding
        }
        channel.closeFuture.whenComplete { _ in
            self.state.withLock { $0.channels[ObjectIdentifier(channel)] = nil }
        }
        if isEnding { channel.close(promise: nil) }
    }

    /// Tells all connections to end; returns those that were open.
    @discardableResult
    func quiesce() -> [any Channel] {
        let channels = state.withLock {
            $0.isEnding = true
            return Array($0.channels.values)
        }
        for channel in channels { channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }
        return channels
    }

    /// Tells all connections to end, and returns when they have ended. Each closes itself within a bounded time.
    func end() async {
        for channel in quiesce() { try? await channel.closeFuture.get() }
    }
}
