/// The bounds of the daemon, in one place.
package enum DaemonLimits {
    /// Most commands that wait for the engine; with more, requests are answered 503 at once.
    package static let commandsWaiting = 20_000
    /// How many transactions the engine makes before it lets others look at it.
    static let roundsPerDrain = 2
    /// How long the engine waits before it writes again what the store refused.
    package static let storeRetryMilliseconds: Int64 = 500
    /// For how long a fault of the store makes the daemon count as not ready.
    package static let storeFaultMilliseconds: Int64 = 5000
    /// Greatest body of a request that is one JSON document.
    package static let bodyBytes = 256 * 1024
    /// Greatest body of a request of many lines.
    package static let batchBytes = 64 * 1024 * 1024
    /// How many lines of a batch share a turn.
    package static let batchLines = 256
    /// How many entries a page has unless asked otherwise, and at most.
    package static let pageSize = 50
    package static let pageMaximum = 1000
    /// For how long a secret that was exchanged still signs unless asked otherwise, in seconds.
    static let secretOverlapSeconds = 24 * 60 * 60
    /// Most keys that secrets may be sealed under.
    static let secretKeys = 16
    /// Greatest file of such keys.
    static let secretKeyFileBytes = 16 * 1024
    /// How long running attempts may go on after the daemon was told to stop.
    package static let drainMilliseconds = 20_000
}
