package import NIOCore

/// For how long a connection to the APNs listener, and a request on it, may take.
package struct APNsTimes: Equatable, Sendable {
    /// From the connection's begin to its first request, the TLS handshake included.
    package var firstRequest = TimeAmount.seconds(DaemonLimits.apnsFirstRequestSeconds)
    /// Without a request under way; then the connection is ended with GOAWAY.
    package var idle = TimeAmount.seconds(DaemonLimits.apnsIdleSeconds)
    /// For a whole request to come in.
    package var request = TimeAmount.seconds(DaemonLimits.apnsRequestSeconds)
    /// For the client to take what is written to it.
    package var stall = TimeAmount.seconds(DaemonLimits.apnsStallSeconds)
    /// From GOAWAY to the end of the connection.
    package var drain = TimeAmount.milliseconds(Int64(DaemonLimits.drainMilliseconds))

    package init() {}
}
