import Synchronization

/// The end of a load run before its time: the first wish ends the sending, the second one the wait for webhooks too.
package final class LoadStop: Sendable {
    private let wishes = Mutex((count: 0, reason: Int32?.none))

    package init() {}

    /// Returns how many wishes there have been.
    ///
    /// - Parameter reason: The signal.
    @discardableResult
    package func ask(_ reason: Int32) -> Int {
        wishes.withLock {
            $0 = ($0.count + 1, reason)
            return $0.count
        }
    }

    /// The last signal; nil if there was none.
    package var reason: Int32? { wishes.withLock { $0.reason } }

    /// Whether nothing more is to be sent.
    package var endsSending: Bool { wishes.withLock { $0.count > 0 } }
    /// Whether webhooks are not to be waited for.
    package var endsWaiting: Bool { wishes.withLock { $0.count > 1 } }
}
