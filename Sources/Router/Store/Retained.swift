package import RouterPlugin

/// What retention decides on: how large the store is, and the oldest of what nobody waits for any more.
package struct Retained: Hashable, Sendable {
    /// What may be forgotten.
    package enum Subject: Hashable, Sendable {
        /// A settled notification, with its payload, its attempts and its keys.
        case notification(NotificationSequence)
        /// What is remembered of a request.
        case answer(DedupeKey)
    }

    package struct Item: Hashable, Sendable {
        package var subject: Subject
        /// When it was settled, or answered.
        package var since: Timestamp
        /// Roughly what deleting it has to look at: the size of the payload.
        package var bytes: Int

        package init(_ subject: Subject, since: Timestamp, bytes: Int = 0) {
            self.subject = subject
            self.since = since
            self.bytes = bytes
        }
    }

    /// What is in use; space that is kept for what comes next does not count.
    package var bytes: Int64
    /// Oldest first.
    package var oldest: [Item]

    package init(bytes: Int64, oldest: [Item]) {
        self.bytes = bytes
        self.oldest = oldest
    }
}
