package import NIOCore

/// For how long a connection to the APNs listener, and a request on it, may take.
package struct APNsTimes: Equatable, Sendable {
    /// From the connection's begin to its first request, the TLS handshake included.
    package var firstRequest = TimeAmount.seconds(DaemonLimits.apnsFirstRequestSeconds)
    /// Without a request under way; then the connection is ended with GOAWAY.
    package var idle = TimeAmount.seconds(DaemonLimits.apnsIdleSeconds)
    /// For a whole request to come in.
    package var request = TimeAmount.seconds(DaemonLimits.apnsRequestSeconds)
    /// For the client to read its answers.
    package var stall = TimeAmount.seconds(DaemonLimits.apnsStallSeconds)
    /// For requests under way to be answered when the listener stops; then GOAWAY is said all the same.
    package var drain = TimeAmount.seconds(DaemonLimits.apnsDrainSeconds)
    /// From GOAWAY to the end of the connection.
    package var linger = TimeAmount.seconds(DaemonLimits.lingerSeconds)

    package init() {}
}
