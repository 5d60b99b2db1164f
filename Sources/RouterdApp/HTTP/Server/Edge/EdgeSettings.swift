package import NIOCore

/// What the ingest edge allows: how many connections, how fast requests have to come, how much of them is held.
///
/// What an operator may want to change is a setting of the daemon (`http.…`); the rest are the constants of
/// ``DaemonLimits``, and stands here so that tests need not wait for them.
package struct EdgeSettings: Equatable, Sendable {
    /// How many connections are served at once.
    package var connections = DaemonLimits.connections
    /// How many of them may come from one address.
    package var connectionsPerAddress = DaemonLimits.connectionsPerAddress
    /// How many connections beyond those are told so, and may ask whether the daemon is well.
    package var connectionsTurnedAway = DaemonLimits.connectionsTurnedAway
    /// How many requests an address may send in a second; nil for as many as it likes.
    package var requestsPerSecondPerAddress: Int?
    /// How many bytes of bodies are held at once, over all connections.
    package var bodyBytesHeld = DaemonLimits.bodyBytesHeld
    package var times = ConnectionTimes()

    package init() {}
}

/// For how long a connection may do what it is doing.
package struct ConnectionTimes: Equatable, Sendable {
    /// Between two requests, and before the first.
    package var idle = TimeAmount.seconds(DaemonLimits.idleSeconds)
    /// From the first byte of a request to the end of its headers.
    package var head = TimeAmount.seconds(DaemonLimits.headSeconds)
    /// For the body, whatever its size; what has come of it buys more, at ``bodyBytesPerSecond``.
    package var bodyGrace = TimeAmount.seconds(DaemonLimits.bodyGraceSeconds)
    /// The rate that a body must reach once the grace is over.
    package var bodyBytesPerSecond = DaemonLimits.bodyBytesPerSecond
    /// For the whole body, and for taking the answer.
    package var request = TimeAmount.seconds(DaemonLimits.requestSeconds)
    /// How long is listened after the last answer, so that it is not lost to a reset.
    package var linger = TimeAmount.seconds(DaemonLimits.lingerSeconds)

    package init() {}

    /// Those of a connection that is one too many: it may ask whether the daemon is well, and has to be quick.
    var ofOneTooMany: ConnectionTimes {
        var times = self
        times.idle = min(idle, .seconds(DaemonLimits.turnedAwaySeconds))
        times.head = min(head, .seconds(DaemonLimits.turnedAwaySeconds))
        return times
    }
}
