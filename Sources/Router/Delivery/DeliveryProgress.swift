package import RouterPlugin

/// The progress of a delivery's attempts.
package struct DeliveryProgress: Hashable, Sendable {
    /// Attempts that were made, whether or not they used up a step of the retry schedule.
    package var attempts: Int
    /// Attempts that used up a step of the retry schedule.
    package var failures: Int
    /// Answers that refused the message itself.
    package var rejections: Int
    /// No attempt before this time.
    package var notBefore: Timestamp?

    package init(attempts: Int = 0, failures: Int = 0, rejections: Int = 0, notBefore: Timestamp? = nil) {
        self.attempts = attempts
        self.failures = failures
        self.rejections = rejections
        self.notBefore = notBefore
    }
}
