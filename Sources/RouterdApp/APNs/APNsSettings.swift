package import NIOSSL
package import Plugins
package import Router

/// The settings `apns.…`: how the APNs provider API is served.
package struct APNsSettings: Sendable {
    /// The meaning of a device token.
    package enum Devices: String, CaseIterable, Sendable {
        /// The token is the id of the device: only sessions of that device can receive the push.
        case token
        /// The token is ignored: every session of the application can receive the push.
        case none
    }

    /// The answer to a token that no session of the application has.
    package enum UnknownDevices: String, CaseIterable, Sendable {
        /// The push is accepted like any other notification to the device.
        case accept
        /// The push is refused with `BadDeviceToken` or `DeviceTokenNotForTopic`.
        case refuse
    }

    /// Address of the HTTP/2 listener over TLS; nil for none.
    package var listen: ListenAddress?
    /// Address of the HTTP/2 listener in clear text; nil for none.
    package var cleartextListen: ListenAddress?
    /// The certificate and key of the listener.
    package var tls: NIOSSLContext?
    /// Whether clients may authenticate by a certificate.
    package var takesClientCertificates = false
    /// The keys that sign provider tokens; without keys, every token is accepted.
    package var keys: [ProviderKey] = []
    package var topics = APNsTopics()
    package var devices = Devices.token
    package var unknownDevices = UnknownDevices.accept
    /// Maximum number of requests under way on a connection, and of connections.
    package var streams = DaemonLimits.apnsStreams
    package var connections = DaemonLimits.apnsConnections
    /// How many pushes a device token may receive in a second; nil for any number.
    package var requestsPerSecondPerDevice: Int?
    package var times = APNsTimes()

    package init() {}

    /// The addresses of the listeners.
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
