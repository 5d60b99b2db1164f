/// Every bound of this target that is not a setting, in one place.
package enum CurlLimits {
    /// Longest URL of an endpoint, in bytes.
    package static let urlBytes = 2048
    /// Longest message of a failure, in bytes.
    static let messageBytes = 256
    /// Longest head of a response, interim responses and trailers included, in bytes.
    static let headBytes = 64 * 1024
    /// How much of a response's content type is kept, in bytes.
    static let contentTypeBytes = 256
    /// How much of a redirect's target is kept, in bytes.
    static let locationBytes = 2048
    /// Longest wait that is passed on, in seconds; the longest wait that counts is decided elsewhere.
    static let retryAfterSeconds = Int(Int32.max)
    /// Longest time limit of a request, in milliseconds: libcurl keeps it in an `int`.
    static let timeoutMilliseconds = Int(Int32.max)
    /// Greatest number of names that are looked up at once, beside names that were found before and look-ups that take
    /// long: each takes a thread for as long as the system's resolver likes. For the others there are `moreLookUps`
    /// times as many threads.
    package static let lookUps = 64
    static let moreLookUps = 3
    /// The duration from which a look-up counts as late, in nanoseconds: a name server answers sooner, or after a
    /// second question.
    static let promptLookUp: UInt64 = 250_000_000
    /// How many files a look-up may have open: a socket for a name server, and a file of names or another socket.
    package static let filesPerLookUp = 2
    /// The time without a thread for a new name after which only few requests may wait for one, in nanoseconds.
    static let lookUpPause: UInt64 = 100_000_000
    /// How many addresses of a name are tried.
    static let addressesPerName = 32
    /// How often a request's host is looked up: once, and again when a connection that it was to share came to nothing.
    static let lookUpsPerRequest = 8
    /// How many names are remembered that had addresses when they were looked up last.
    static let foundNames = 16_384
    /// How many names are remembered that took too long to look up.
    static let slowNames = 1024
    /// How many ready sockets are looked at before the mail is.
    static let eventsPerTurn = 256
    /// The size and number of reads from a connection on which bytes arrive without a request, in bytes.
    static let strayBytes = 4096
    static let strayReads = 64
    /// How far the kernel's figure of when something came last may be off, in nanoseconds: it counts in ticks.
    static let silenceError: UInt64 = 10_000_000
    /// The memory for bodies that a handle keeps between two requests, in bytes: a payload of the usual size in its
    /// envelope.
    static let keptBodyBytes = 4096
}
