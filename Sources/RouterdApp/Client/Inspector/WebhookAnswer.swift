import RouterPlugin

/// The answer of a receiver to a webhook.
package struct WebhookAnswer: Hashable, Sendable {
    package var status: Int
    /// The time between the webhook and the answer.
    package var delayMilliseconds: Int
    /// The value of `Retry-After`; nil for none.
    package var retryAfterSeconds: Int?
    /// The body, sent as JSON if it is JSON, and otherwise as text.
    package var body: String

    package init(status: Int, delayMilliseconds: Int = 0, retryAfterSeconds: Int? = nil, body: String = "") {
        self.status = status
        self.delayMilliseconds = delayMilliseconds
        self.retryAfterSeconds = retryAfterSeconds
        self.body = body
    }

    /// The answer to a webhook that none of the keys has signed.
    static let unauthorized = WebhookAnswer(status: 401)

    /// Statuses of final answers.
    package static let statuses = 200...599

    func write(to object: inout JSONObjectWriter) {
        object.field("status", status)
        object.field("delayMilliseconds", delayMilliseconds)
        object.field("retryAfterSeconds", retryAfterSeconds)
        object.field("body", body)
    }
}
