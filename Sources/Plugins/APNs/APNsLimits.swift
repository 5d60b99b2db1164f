/// The bounds of APNs' provider API, in one place.
package enum APNsLimits {
    /// Greatest payload in bytes; of VoIP pushes, ``voipPayloadBytes``.
    package static let payloadBytes = 4096
    package static let voipPayloadBytes = 5120
    /// Length of a device token in hexadecimal digits. Apple asks for up to 100 bytes of room; tokens of iOS have 32.
    package static let tokenDigits = 8...200
    /// Greatest collapse id in bytes.
    package static let collapseIDBytes = 64
    /// Greatest value of `authorization` in bytes.
    package static let providerTokenBytes = 4096
    /// Age at which a provider token expires, in seconds.
    package static let providerTokenSeconds: Int64 = 3600
    /// The greatest lead of a provider's clock over the router's, in seconds.
    package static let clockSkewSeconds: Int64 = 60
}
