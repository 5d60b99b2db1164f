/// The key under which a client may repeat a change of a session, and what it is repeated with.
package struct RepeatableChange: Hashable, Sendable {
    package var key: DedupeKey
    /// A digest of what is asked for: the same key for something else is a conflict.
    package var fingerprint: [UInt8]

    package init(key: DedupeKey, fingerprint: [UInt8]) {
        self.key = key
        self.fingerprint = fingerprint
    }
}

/// What was answered to such a change. A secret that was made for it is not: it is shown once.
package struct KeptAnswer: Hashable, Sendable {
    package var fingerprint: [UInt8]
    /// Whether the session was new.
    package var created: Bool

    package init(fingerprint: [UInt8], created: Bool) {
        self.fingerprint = fingerprint
        self.created = created
    }
}
