/// Limits of the sources that take other systems' webhooks.
enum SenderLimits {
    /// Signatures that are compared in one request.
    static let maximumSignatures = 16
    /// Seconds that a signed timestamp may differ from the time of arrival, unless the sender's protocol says
    /// otherwise.
    static let toleranceSeconds: Int64 = 300
    /// The greatest tolerance that can be configured: a day.
    static let maximumToleranceSeconds: Int64 = 86_400
    /// Bytes of an event's type.
    static let maximumTypeLength = 128
    /// Bytes of a sender's id for an event or a delivery.
    static let maximumIDLength = 255
    /// Bytes of a form before decoding; a byte of JSON takes up to three of them.
    static let maximumFormBytes = 768 * 1024
    /// Fields of a form.
    static let maximumFormFields = 256
    /// Alerts in one request.
    static let maximumAlerts = 1000
    /// Bytes of all payloads that are made of one request.
    static let maximumSplitBytes = 4 * 1024 * 1024
    /// Bytes of an option's text.
    static let maximumOptionLength = 256
}
