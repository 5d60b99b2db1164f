/// How far a recovery has come.
package struct RecoveryProgress: Hashable, Sendable {
    /// Sessions and notifications that have been read.
    package var done: Int
    /// Sessions and notifications in all.
    package var total: Int

    package init(done: Int, total: Int) {
        self.done = done
        self.total = total
    }

    /// The part that is done, from 0 to 100.
    package var percent: Int { total == 0 ? 100 : min(100, done * 100 / total) }
}
