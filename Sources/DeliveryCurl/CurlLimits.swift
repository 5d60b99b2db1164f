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
    /// Longest wait that is passed on, in seconds; what a receiver may really ask for is decided elsewhere.
    static let retryAfterSeconds = Int(Int32.max)
    /// Longest time limit of a request, in milliseconds: what libcurl keeps in an `int`.
    static let timeoutMilliseconds = Int(Int32.max)
    /// How many names may be looked up at once, at most, unless they were found before or take long: each takes a thread for as
    /// long as the system's resolver likes. For those there are so many times more.
    package static let lookUps = 64
    static let moreLookUps = 3
    /// A look-up that takes longer than that takes long, in nanoseconds: a name server answers sooner, or after it was asked
    /// once more.
    static let promptLookUp: UInt64 = 250_000_000
    /// How many files a look-up may have open: a socket for a name server, and a file of names or another socket.
    package static let filesPerLookUp = 2
    /// For so many nanoseconds no name that was not found before has got a thread: then few requests may wait for one.
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
    /// What is read at a time, and how often, of what comes over a connection on which nothing was asked.
    static let strayBytes = 4096
    static let strayReads = 64
    /// How far the kernel's figure of when something came last may be off, in nanoseconds: it counts in ticks.
    static let silenceError: UInt64 = 10_000_000
    /// What a handle keeps of memory for bodies between two requests: that of a payload of the usual size in its envelope.
    static let keptBodyBytes = 4096
}
