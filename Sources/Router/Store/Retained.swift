package import RouterPlugin

/// The facts that retention decides on: the size of the store, and the oldest records that may be deleted.
package struct Retained: Hashable, Sendable {
    /// A record that may be forgotten.
    package enum Subject: Hashable, Sendable {
        /// A settled notification, with its payload, its attempts and its keys.
        case notification(NotificationSequence)
        /// The kept answer to a request.
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

    /// Bytes in use, without the free space that will be used next.
    package var bytes: Int64
    /// Oldest first.
    package var oldest: [Item]

    package init(bytes: Int64, oldest: [Item]) {
        self.bytes = bytes
        self.oldest = oldest
    }
}
