package import NIOCore

/// Time limits of a connection to the APNs listener, and of a request on it.
package struct APNsTimes: Equatable, Sendable {
    /// From the start of the connection to the first bytes of HTTP/2, the TLS handshake included.
    package var preface = TimeAmount.seconds(DaemonLimits.apnsPrefaceSeconds)
    /// From these bytes to the first request.
    package var firstRequest = TimeAmount.seconds(DaemonLimits.apnsFirstRequestSeconds)
    /// Time without a request under way; then the connection is ended with GOAWAY.
    package var idle = TimeAmount.seconds(DaemonLimits.apnsIdleSeconds)
    /// Time for a whole request to arrive.
    package var request = TimeAmount.seconds(DaemonLimits.apnsRequestSeconds)
    /// Time for the client to read its answers.
    package var stall = TimeAmount.seconds(DaemonLimits.apnsStallSeconds)
    /// Time for requests under way to be answered when the listener stops; then GOAWAY is sent even if some are not
    /// answered.
    package var drain = TimeAmount.seconds(DaemonLimits.apnsDrainSeconds)
    /// Time from GOAWAY to the end of the connection.
    package var linger = TimeAmount.seconds(DaemonLimits.lingerSeconds)

    package init() {}
}
