package import RouterPlugin

/// The progress of a delivery's attempts, in 20 bytes: each waiting notification has one.
package struct DeliveryProgress: Hashable, Sendable {
    private struct Counts: Hashable, Sendable {
        var attempts: Int32
        var failures: Int32
        var rejections: Int32
    }

    /// `notBefore` in milliseconds; the least number for none.
    private var earliest: Int64
    private var counts: Counts

    package init(attempts: Int = 0, failures: Int = 0, rejections: Int = 0, notBefore: Timestamp? = nil) {
        counts = Counts(
            attempts: Int32(clamping: attempts), failures: Int32(clamping: failures),
            rejections: Int32(clamping: rejections))
        earliest = notBefore?.milliseconds ?? .min
    }

    /// Attempts that were made, whether or not they used up a step of the retry schedule.
    package var attempts: Int {
        get { Int(counts.attempts) }
        set { counts.attempts = Int32(clamping: newValue) }
    }
    /// Attempts that used up a step of the retry schedule.
    package var failures: Int {
        get { Int(counts.failures) }
        set { counts.failures = Int32(clamping: newValue) }
    }
    /// Answers that refused the message itself.
    package var rejections: Int {
        get { Int(counts.rejections) }
        set { counts.rejections = Int32(clamping: newValue) }
    }
    /// No attempt before this time.
    package var notBefore: Timestamp? {
        get { earliest == .min ? nil : Timestamp(milliseconds: earliest) }
        set { earliest = newValue?.milliseconds ?? .min }
    }
}
