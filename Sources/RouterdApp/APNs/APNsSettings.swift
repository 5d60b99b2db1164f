package import NIOSSL
package import Plugins
package import Router

/// The settings `apns.…`: how the APNs provider API is served.
package struct APNsSettings: Sendable {
    /// The meaning of a device token.
    package enum Devices: String, CaseIterable, Sendable {
        /// The token is the id of the device: its sessions alone can have the push.
        case token
        /// The token means nothing: every session of the application can have the push.
        case none
    }

    /// The answer to a token of which the application has no session.
    package enum UnknownDevices: String, CaseIterable, Sendable {
        /// The push is accepted as any other notification to the device is.
        case accept
        /// The push is refused with `BadDeviceToken` or `DeviceTokenNotForTopic`.
        case refuse
    }

    /// Where HTTP/2 over TLS is served; nil for nowhere.
    package var listen: ListenAddress?
    /// Where HTTP/2 in clear text is served; nil for nowhere.
    package var cleartextListen: ListenAddress?
    /// The certificate and key of the listener.
    package var tls: NIOSSLContext?
    /// Whether clients may authenticate by a certificate.
    package var takesClientCertificates = false
    /// The keys that sign provider tokens; with none, every token is taken.
    package var keys: [ProviderKey] = []
    package var topics = APNsTopics()
    package var devices = Devices.token
    package var unknownDevices = UnknownDevices.accept
    /// Most requests under way on a connection, and most connections.
    package var streams = DaemonLimits.apnsStreams
    package var connections = DaemonLimits.apnsConnections
    /// How many pushes a device token may get in a second; nil for any number.
    package var requestsPerSecondPerDevice: Int?
    package var times = APNsTimes()

    package init() {}

    /// The addresses that are served.
    package var addresses: [ListenAddress] { [listen, cleartextListen].compactMap(\.self) }

    package var tokens: ProviderTokenCheck { keys.isEmpty && !takesClientCertificates ? .none : .keys(keys) }

    package var demand: AcceptRequest.DeviceDemand {
        switch (devices, unknownDevices) {
        case (.none, _): .none
        case (.token, .accept): .notRetired
        case (.token, .refuse): .registered
        }
    }
}
