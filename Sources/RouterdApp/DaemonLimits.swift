package import Router
import RouterPlugin

/// The bounds of the daemon, in one place.
package enum DaemonLimits {
    /// Most commands that wait for the engine; with more, requests are answered 503 at once.
    package static let commandsWaiting = 20_000
    /// How many transactions the engine makes before it lets others look at it.
    static let roundsPerDrain = 2
    /// How long the engine waits before it writes again what the store refused.
    package static let storeRetryMilliseconds: Int64 = 500
    /// What the wall clock and the daemon's may differ by without anybody's doing.
    static let clockStepMilliseconds: Int64 = 2000
    /// For how long a fault of the store makes the daemon count as not ready.
    package static let storeFaultMilliseconds: Int64 = 5000
    /// How often it is said at most that attempts cannot be made.
    static let shortageReportMilliseconds: Int64 = 60_000
    /// Most formats that are kept made.
    static let formatsKept = 1024
    /// Greatest body of a request that is one JSON document.
    package static let bodyBytes = 256 * 1024
    /// Most test webhooks of an application in a second.
    package static let sessionTestsPerSecond = 5
    /// Greatest secret of a source, in bytes.
    package static let sourceSecretBytes = 4096
    /// Greatest description of a sample request to a source: a payload in base64, and its headers.
    package static let sourceSampleBytes = 512 * 1024
    /// Greatest body of a request of many lines.
    package static let batchBytes = 64 * 1024 * 1024
    /// Most lists and mappings within each other in a document of a file or set: those of a body, and the document around it.
    static let documentDepth = JSONLimits.configuration.maximumDepth + 1
    /// How many lines of a batch share a turn, and how many bytes they have: to file the predicates of a session takes some
    /// 0.3 microseconds a byte, and others wait meanwhile.
    package static let batchLines = 256
    package static let batchTurnBytes = 128 * 1024
    /// How many entries a page has unless asked otherwise, and at most.
    package static let pageSize = 50
    package static let pageMaximum = 1000
    /// Requests of a client that may wait for a connection.
    static let clientRequests = 10_000_000
    /// For how long is kept what is over, unless the configuration says otherwise: thirty days, and a day in any case,
    /// which is longer than senders repeat a request that they got no answer to.
    package static let retention = RetentionPolicy(
        ageMilliseconds: 30 * dayMilliseconds, repeatMilliseconds: dayMilliseconds)
    static let dayMilliseconds: Int64 = 24 * 60 * 60 * 1000
    /// Smallest limit of the store's size, in bytes: below that there is little but the schema.
    static let retentionBytesMinimum = 1024 * 1024
    /// For how long a secret that was exchanged still signs unless asked otherwise, in seconds.
    static let secretOverlapSeconds = 24 * 60 * 60
    /// Most keys that secrets may be sealed under.
    static let secretKeys = 16
    /// Greatest file of such keys.
    static let secretKeyFileBytes = 16 * 1024
    /// What a hash of a passcode costs unless the configuration says otherwise: 32 MiB, as OWASP asks of scrypt.
    package static let passcodeCost = PasscodeHash.Cost(logRounds: 15, blockSize: 8, parallelism: 3)
    /// What it may be set to; and what it should come to, as the product of scrypt's N and p: the least of the choices that
    /// OWASP's Password Storage Cheat Sheet gives for r = 8.
    static let passcodeLogRounds = 10...17
    static let passcodeParallelism = 1...16
    static let passcodeWork = 81_920
    /// How many passcodes that somebody thinks of are checked in a second, for each application.
    package static let passcodeChecksPerSecond = 20
    /// How many bytes of salt a passcode has.
    static let passcodeSaltBytes = 16
    /// How many bytes of randomness a challenge for a device has.
    static let challengeBytes = 32
    /// Most requests that make hashes, or wait to; others are answered 503 at once.
    package static let passcodesWaiting = 64
    /// How long running attempts may go on after the daemon was told to stop.
    package static let drainMilliseconds = 20_000

    /// How long a receiver of the client's own may go on answering after it was told to stop.
    static let echoDrainMilliseconds: Int64 = 2000

    // MARK: The feed

    /// How many of the last events are kept for readers, and for how long when nobody reads any more.
    static let feedEvents = 8192
    static let feedMemoryMilliseconds: Int64 = 5 * 60 * 1000
    /// How many events a reader takes at a time.
    static let feedEventsAtOnce = 256
    /// How many streams are open at once, and how many with one key.
    static let streams = 64
    static let streamsPerKey = 16
    /// For how many seconds whoever is one too many is asked to wait.
    static let streamRetrySeconds = 10
    /// A stream on which nothing else happens says so, in seconds; so many times in vain, and its client is gone.
    static let heartbeatSeconds: Int64 = 15
    static let heartbeatsInVain = 4
    /// For how long a stream may go on that was told to end, in seconds.
    static let streamEndSeconds: Int64 = 2

    /// A client of a stream takes a silence of so many seconds for the end of it, and so many bytes of a refusal.
    static let streamSilenceSeconds = 60
    static let refusalBytes = 16 * 1024

    // MARK: Observers

    /// How long an observer may take for an event before it misses others, and how many may wait for it.
    static let observerMilliseconds: Int64 = 10_000
    static let observerEvents = 8192
    /// For how long the next observer waits for one, so that they are told in their order.
    static let observerPatienceMilliseconds = 20
    /// At most one line in so long a time says that an observer fails.
    static let observerReportMilliseconds: Int64 = 60_000

    // MARK: The ingest edge

    /// How many connections are served at once, and how many of one address.
    package static let connections = 2048
    package static let connectionsPerAddress = 1024
    /// How many connections beyond those are told so, altogether and of one address, and for how many seconds.
    package static let connectionsTurnedAway = 64
    package static let connectionsTurnedAwayPerAddress = 16
    static let turnedAwaySeconds: Int64 = 5
    /// Files that are open beside connections and webhooks: the store's, the listener's, the event loops'.
    static let openFilesReserved = 64
    /// With fewer files nothing useful could be divided.
    package static let openFilesLeast = 128
    /// How many files may be open if the system does not say.
    static let openFilesAssumed = 1024
    /// How many addresses, or keys, are remembered for how fast they send.
    package static let ratesKept = 65_536
    /// Greatest rate that can be asked for.
    static let requestsPerSecondMaximum = 1_000_000
    /// How many bytes of bodies are held at once. A body takes a small multiple of its size while it is read.
    package static let bodyBytesHeld = 256 * 1024 * 1024
    /// How much of an answer the kernel keeps for a client that has not taken it yet; Linux makes it twice as much.
    static let sendBufferBytes = 128 * 1024
    /// Greatest head of a request, in bytes and in fields.
    static let headBytes = 32 * 1024
    static let headFields = 128
    /// What chunks may have beside the body, and how much more for every byte of it.
    static let chunkOverheadBytes = 16 * 1024
    static let chunkOverheadFactor = 8
    /// The rest of a body that is waited for although the answer is given.
    static let bodyRestBytes = 256 * 1024
    /// How long a connection may be without a request, and take for what it sends; see `ConnectionTimes`.
    package static let idleSeconds: Int64 = 75
    package static let headSeconds: Int64 = 10
    package static let bodyGraceSeconds: Int64 = 10
    package static let bodyBytesPerSecond = 512
    package static let requestSeconds: Int64 = 120
    package static let lingerSeconds: Int64 = 2
    /// How long a client may take nothing of an answer that is made as it is taken; all its pauses together may not last longer
    /// than `requestSeconds`.
    static let answerSeconds: Int64 = 30
    /// Most webhook requests at once, and most connections that are kept.
    package static let slots = 65_536
    /// Longest language tag.
    static let languageTagBytes = 35
    /// How many notifications a replay sends in a second, unless it says otherwise.
    package static let replaysPerSecond = 100

    // MARK: The APNs listeners

    /// Most connections, and most requests under way on each, unless the configuration says otherwise.
    package static let apnsConnections = 256
    package static let apnsStreams = 1000
    /// Greatest numbers that can be asked for.
    static let apnsStreamsMaximum = 10_000
    static let apnsConnectionsMaximum = 65_536
    /// Connections that wait to be accepted.
    static let apnsBacklog: Int32 = 256
    /// Greatest head of a request, in bytes as HTTP/2 counts them.
    static let apnsHeadBytes = 16 * 1024
    /// Window of a connection for each request that it may have under way: most payloads have less.
    static let apnsWindowBytesPerStream = 4096
    /// Bytes of bodies that are held at once, over all connections.
    package static let apnsBodyBytesHeld = 64 * 1024 * 1024
    /// Bytes of a body that are thrown away after the answer; then the request is cut.
    static let apnsDiscardedBytes = 64 * 1024
    /// Seconds that a connection may take; see `APNsTimes`.
    static let apnsFirstRequestSeconds: Int64 = 30
    static let apnsIdleSeconds: Int64 = 600
    static let apnsRequestSeconds: Int64 = 30
    static let apnsStallSeconds: Int64 = 30
    static let apnsDrainSeconds: Int64 = 5
    /// Most topics of a provider's key.
    static let providerTopics = 1000
    /// Greatest file with certificates or keys.
    static let pemFileBytes = 1024 * 1024
}
