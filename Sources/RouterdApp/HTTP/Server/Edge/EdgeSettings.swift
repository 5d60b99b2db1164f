package import NIOCore

/// The limits of the ingest edge: connections, the pace of requests, and the bytes held.
///
/// Limits that an operator may want to change are settings of the daemon (`http.…`); the rest are the constants of
/// ``DaemonLimits``, repeated here so that tests need not wait for them.
package struct EdgeSettings: Equatable, Sendable {
    /// How many connections are served at once.
    package var connections = DaemonLimits.connections
    /// How many of them may come from one address.
    package var connectionsPerAddress = DaemonLimits.connectionsPerAddress
    /// How many connections beyond those are answered with a refusal, and may check the daemon's health.
    package var connectionsTurnedAway = DaemonLimits.connectionsTurnedAway
    /// How many requests an address may send in a second; nil for any number.
    package var requestsPerSecondPerAddress: Int?
    /// How many bytes of bodies are held at once, over all connections.
    package var bodyBytesHeld = DaemonLimits.bodyBytesHeld
    package var times = ConnectionTimes()
    /// Origins whose pages may read answers.
    package var allowedOrigins: Set<String> = []

    package init() {}
}

/// Time limits of a connection in each phase.
package struct ConnectionTimes: Equatable, Sendable {
    /// Between two requests, and before the first.
    package var idle = TimeAmount.seconds(DaemonLimits.idleSeconds)
    /// From the first byte of a request to the end of its headers.
    package var head = TimeAmount.seconds(DaemonLimits.headSeconds)
    /// For the body, whatever its size; received bytes extend the time, at ``bodyBytesPerSecond``.
    package var bodyGrace = TimeAmount.seconds(DaemonLimits.bodyGraceSeconds)
    /// The rate that a body must reach once the grace is over.
    package var bodyBytesPerSecond = DaemonLimits.bodyBytesPerSecond
    /// For the whole body, and for taking the answer.
    package var request = TimeAmount.seconds(DaemonLimits.requestSeconds)
    /// How long the connection is read after the last answer, so that the answer is not lost to a reset.
    package var linger = TimeAmount.seconds(DaemonLimits.lingerSeconds)

    package init() {}

    /// The times of a connection beyond the limit: it may check the daemon's health, and has to be quick.
    var ofOneTooMany: ConnectionTimes {
        var times = self
        times.idle = min(idle, .seconds(DaemonLimits.turnedAwaySeconds))
        times.head = min(head, .seconds(DaemonLimits.turnedAwaySeconds))
        return times
    }
}
