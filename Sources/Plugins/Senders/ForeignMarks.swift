internal import RouterPlugin

/// Recognises requests of senders that have a kind of source of their own.
///
///     X-GitHub-Event, X-Hub-Signature*            github
///     X-Gitlab-*                                  gitlab
///     Stripe-Signature                            stripe
///     X-Slack-Signature, X-Slack-Request-Timestamp  slack
///     X-Shopify-Hmac-Sha256, X-Shopify-Topic,
///     Shopify-Hmac-Sha256, Shopify-Topic          shopify
///     X-Grafana-Alerting-Signature                grafana
///     ce-*, Content-Type: application/cloudevents*  cloudevents
///     webhook-signature, svix-signature           standard-webhooks
///
/// The upper row wins: GitLab signs as Standard Webhooks has it, and still is GitLab.
package enum ForeignMarks: Sendable {
    /// A header that one sender's requests bear.
    private struct Mark {
        let kind: String
        /// The mark as messages name it, in its usual spelling.
        let text: String
        /// The name of the header in lower case, or its beginning.
        let name: String
        let isPrefix: Bool

        init(_ kind: String, _ text: String, _ name: String, isPrefix: Bool = false) {
            self.kind = kind
            self.text = text
            self.name = name
            self.isPrefix = isPrefix
        }

        func isBorne(by header: String) -> Bool {
            isPrefix ? header.utf8.starts(with: name.utf8) : header.isSame(as: name)
        }
    }

    private static let marks = [
        Mark("github", "X-GitHub-Event", "x-github-event"),
        Mark("github", "X-Hub-Signature", "x-hub-signature", isPrefix: true),
        Mark("gitlab", "X-Gitlab-*", "x-gitlab-", isPrefix: true),
        Mark("stripe", "Stripe-Signature", "stripe-signature"),
        Mark("slack", "X-Slack-Signature", "x-slack-signature"),
        Mark("slack", "X-Slack-Request-Timestamp", "x-slack-request-timestamp"),
        Mark("shopify", "X-Shopify-Hmac-Sha256", "x-shopify-hmac-sha256"),
        Mark("shopify", "X-Shopify-Topic", "x-shopify-topic"),
        Mark("shopify", "Shopify-Hmac-Sha256", "shopify-hmac-sha256"),
        Mark("shopify", "Shopify-Topic", "shopify-topic"),
        Mark("grafana", "X-Grafana-Alerting-Signature", "x-grafana-alerting-signature"),
        Mark("cloudevents", "ce-*", "ce-", isPrefix: true),
        Mark("standard-webhooks", "webhook-signature", "webhook-signature"),
        Mark("standard-webhooks", "svix-signature", "svix-signature"),
    ]

    /// The kind of source that the request belongs to, and the mark that says so; nil if it bears none.
    ///
    /// - Parameters:
    ///   - headers: the header fields, with names in lower case.
    ///   - contentType: the value of `Content-Type`.
    package static func sender(
        of headers: [(name: String, value: String)], contentType: String?
    ) -> (kind: String, mark: String)? {
        var first = marks.count
        for header in headers {
            if let place = marks[..<first].firstIndex(where: { $0.isBorne(by: header.name) }) { first = place }
        }
        if first < marks.count, marks[first].kind != "standard-webhooks" {
            return (marks[first].kind, marks[first].text)
        }
        if let contentType, isCloudEvents(contentType) {
            return ("cloudevents", "Content-Type: application/cloudevents")
        }
        return first < marks.count ? (marks[first].kind, marks[first].text) : nil
    }

    /// Looks at each of several values: a header that occurs twice is one text with commas here.
    private static func isCloudEvents(_ contentType: String) -> Bool {
        contentType.utf8.split(separator: UInt8(ascii: ",")).contains { value in
            let type = value.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            return String(decoding: type, as: UTF8.self).lowercased().utf8.starts(with: "application/cloudevents".utf8)
        }
    }
}
