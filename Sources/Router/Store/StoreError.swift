/// The reason why a call of the store failed.
package struct StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: String, CaseIterable, Hashable, Sendable {
        /// Another process has the database open.
        case inUse = "store-in-use"
        /// The disk or the quota is full.
        case diskFull = "store-disk-full"
        /// Reading or writing failed below the database.
        case inputOutput = "store-io-error"
        /// The database is damaged, or not one of ours.
        case corrupt = "store-corrupt"
        /// The files of the database were removed, replaced or truncated while it was open. There is no going on.
        case lost = "store-lost"
        /// There is no database where one was before.
        case missing = "store-missing"
        /// A lock was not free in time.
        case busy = "store-busy"
        /// The database was written by a newer version.
        case tooNew = "store-too-new"
        /// Secrets are sealed under a key that is not there.
        case secretsKey = "store-secrets-key"
        /// A change contradicts the stored data.
        case conflict = "store-conflict"
        /// Anything else.
        case other = "store-error"
    }

    package var code: Code
    /// One line for people: no payload, no secret.
    package var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { "\(code.rawValue): \(message)" }
}
