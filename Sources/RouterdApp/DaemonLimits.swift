package import Router
import RouterPlugin

/// The bounds of the daemon, in one place.
package enum DaemonLimits {
    /// Maximum number of commands that wait for the engine; beyond it, requests are answered 503 at once.
    package static let commandsWaiting = 20_000
    /// How many commands of a tenant the engine takes before the next tenant has its turn, and how many of all tenants it takes
    /// for one round while more than one has some waiting: a command waits for a round and a turn of each tenant.
    static let commandsPerTurn = 32
    static let commandsPerSharedRound = 128
    /// How many transactions the engine makes before reads of the engine get their turn.
    static let roundsPerDrain = 2
    /// How long the engine waits before it writes again after the store refused a write.
    package static let storeRetryMilliseconds: Int64 = 500
    /// Difference between the wall clock and the daemon's clock that can arise without the wall clock being set.
    static let clockStepMilliseconds: Int64 = 2000
    /// Seconds between two lines of the log about a recovery that goes on.
    static let recoveryReportSeconds = 1
    /// How long the daemon counts as not ready after a fault of the store.
    package static let storeFaultMilliseconds: Int64 = 5000
    /// Interval at which a daemon without commits checks the files of its store and a clock that is held back.
    static let storeLookMilliseconds = 2000
    /// Shortest time between two log lines about attempts that cannot be made.
    static let shortageReportMilliseconds: Int64 = 60_000
    /// Greatest number of spans that wait for the collector, and of those that go at once.
    package static let spansWaiting = 8192
    package static let spansInBatch = 512
    /// Greatest length of a text in a span.
    static let spanAttributeCharacters = 256
    /// Time between two rounds of the exporter, and for one request to the collector.
    static let exportMilliseconds = 1000
    static let exportTimeoutMilliseconds = 5000
    static let exportAnswerBytes = 16 * 1024
    /// The first wait after a failure of the collector, the longest that the exporter chooses, doubled from failure to
    /// failure, and the longest that the collector may ask for.
    static let exportWaitSeconds: ClosedRange<Int64> = 1...60
    static let exportWaitAskedSeconds: Int64 = 300
    /// Greatest size of the file with the header fields of requests to the collector.
    static let traceHeadersBytes = 16 * 1024
    /// Maximum number of cached formats.
    static let formatsKept = 1024
    /// Maximum body of a request with one JSON document.
    package static let bodyBytes = 256 * 1024
    /// Maximum number of test webhooks of an application in a second.
    package static let sessionTestsPerSecond = 5
    /// Maximum secret of a source, in bytes.
    package static let sourceSecretBytes = 4096
    /// Maximum description of a sample request to a source: a payload in base64, and its headers.
    package static let sourceSampleBytes = 512 * 1024
    /// Maximum body of a request with many lines.
    package static let batchBytes = 64 * 1024 * 1024
    /// Maximum number of documents in a set.
    static let documents = 10_000
    /// Maximum nesting of lists and mappings in a document of a file or set: the nesting of a body, and the document
    /// around it.
    static let documentDepth = JSONLimits.configuration.maximumDepth + 1
    /// How many lines of a batch share a turn, and how many bytes they have: indexing the predicates of a session takes
    /// some 0.3 microseconds a byte, and other commands wait meanwhile.
    package static let batchLines = 128
    package static let batchTurnBytes = 128 * 1024
    /// How many entries a page has by default, and at most.
    package static let pageSize = 50
    package static let pageMaximum = 1000
    /// The bytes of entries that end a page, and the bytes that are written at once, before other work has its turn.
    package static let pageBytes = 4 * 1024 * 1024
    static let writtenAtOnce = 64 * 1024
    /// The largest answers: with one resource, with a page of them and its cursor, and with an explanation.
    static let shownBytes = 2 * 1024 * 1024
    static let answerBytes = pageBytes + 64 * 1024
    static let explanationBytes = 16 * 1024 * 1024
    /// The bytes that the decoding of a request to a source may go through on the threads that answer requests, each byte as often
    /// as a signature or a filter reads it: some milliseconds.
    static let passesAtOnce = 256 * 1024
    /// Greatest number of bytes of a file of rules that a request brings.
    package static let rulesBytes = 1 << 20
    /// How many notifications of the past a request decides about again, at most, and how many of them in one turn of the
    /// engine.
    package static let rulesComparedMaximum = 1000
    package static let rulesComparedAtOnce = 50
    /// How many sessions an application may have whose conditions are tried out: a trial copies the index of them.
    package static let trialSessions = 10_000
    /// Greatest number of reads of the store for requests at a time, and of one tenant's.
    package static let reads = 4
    package static let readsOfTenant = 2
    /// Greatest number of walks over sessions at a time; a tenant has as many of them as reads.
    static let walks = 16
    /// Greatest number of decisions without effect at a time, such as explanations; an application has one of them.
    static let decisionsTried = 16
    /// Greatest number of a tenant's reads that wait; others are answered 429.
    package static let readsWaiting = 64
    /// Greatest number of sessions or gates examined by a list in one turn of the engine.
    package static let sessionsExaminedPerTurn = 500
    /// How many requests of a client may wait for a connection.
    static let clientRequests = 10_000_000
    /// How long finished work is kept, unless the configuration says otherwise: thirty days, and a day in any case,
    /// which is longer than senders repeat an unanswered request.
    package static let retention = RetentionPolicy(
        ageMilliseconds: 30 * dayMilliseconds, repeatMilliseconds: dayMilliseconds)
    static let dayMilliseconds: Int64 = 24 * 60 * 60 * 1000
    /// Minimum of the limit on the store's size, in bytes: a smaller store holds little but the schema.
    static let retentionBytesMinimum = 1024 * 1024
    /// How long a replaced secret still signs by default, in seconds.
    static let secretOverlapSeconds = 24 * 60 * 60
    /// Maximum number of keys that seal secrets.
    static let secretKeys = 16
    /// Maximum size of a file of such keys.
    static let secretKeyFileBytes = 16 * 1024
    /// Default cost of a passcode hash: 32 MiB, as OWASP asks of scrypt.
    package static let passcodeCost = PasscodeHash.Cost(logRounds: 15, blockSize: 8, parallelism: 3)
    /// Permitted cost parameters; and the recommended minimum of the product of scrypt's N and p: the least of the
    /// choices that OWASP's Password Storage Cheat Sheet gives for r = 8.
    static let passcodeLogRounds = 10...17
    static let passcodeParallelism = 1...16
    static let passcodeWork = 81_920
    /// How many passcode candidates are checked in a second, for each application.
    package static let passcodeChecksPerSecond = 20
    /// How many bytes of salt a passcode hash has.
    static let passcodeSaltBytes = 16
    /// How many random bytes a challenge for a device has.
    static let challengeBytes = 32
    /// Greatest number of an application's requests that wait to make hashes; others are answered 503 at once.
    package static let passcodesWaiting = 16
    /// How long running attempts may go on after the daemon was told to stop.
    package static let drainMilliseconds = 20_000

    /// How long a receiver inside the client may go on answering after it was told to stop.
    static let echoDrainMilliseconds: Int64 = 2000

    // MARK: The feed

    /// How many of the last events are kept for readers, and for how long after the last reader closed.
    static let feedEvents = 8192
    static let feedMemoryMilliseconds: Int64 = 5 * 60 * 1000
    /// How many events a reader takes at a time.
    static let feedEventsAtOnce = 256
    /// How many streams are open at once, and how many of one application, or with one key of all applications.
    static let streams = 64
    static let streamsPerCaller = 16
    /// How many seconds a refused stream is asked to wait.
    static let streamRetrySeconds = 10
    /// The longest poll for deliveries, in seconds, and the deliveries acknowledged by one request.
    static let pollSeconds: Int64 = 60
    static let acksAtOnce = 1000
    /// Lists of acknowledgements under way, in all and of an application; those of an application that wait for a turn; the
    /// acknowledgements of a list under way at once.
    static let ackLists = 16
    static let ackListsOfTenant = 4
    static let ackListsWaiting = 256
    static let acksUnderWay = 32
    /// The bytes of a message of a WebSocket's client.
    static let webSocketBytes = RouterLimits.answerBytes + 4096
    /// The bytes of such messages that are held until their replies are written, and how many each message counts for beside its
    /// own.
    static let webSocketHeldBytes = 256 * 1024
    static let webSocketMessageBytes = 1024
    /// Pings of a client that are answered in a second, and the longest time without a read after more.
    static let webSocketPingsPerSecond = 16
    static let webSocketPauseSeconds = 5
    /// The bytes of payload that end a page of deliveries that were made before.
    static let rangeBytes = 1 << 20
    /// How long a token of a session is valid, in seconds, and how long unless it is said.
    static let tokenSeconds: ClosedRange<Int64> = 10...86_400
    static let usualTokenSeconds: Int64 = 3600
    /// How long a session may be said to stay connected without a connection to its stream, in seconds.
    static let presenceSeconds = 1...3600
    /// Seconds of silence after which a stream sends a heartbeat, and how many untaken heartbeats end the connection of
    /// its client.
    static let heartbeatSeconds: Int64 = 15
    static let heartbeatsInVain = 4
    /// How long a stream may go on after it was told to end, in seconds.
    static let streamEndSeconds: Int64 = 2

    /// How many seconds of silence a client of a stream takes for its end, and how many bytes of a refusal it reads.
    static let streamSilenceSeconds = 60
    static let refusalBytes = 16 * 1024

    // MARK: Observers

    /// How long an observer may take for an event before it misses others, and how many events may wait for it.
    static let observerMilliseconds: Int64 = 10_000
    static let observerEvents = 8192
    /// How long the next observer waits for the one before, so that they run in registration order.
    static let observerPatienceMilliseconds = 20
    /// Shortest time between two log lines about a failing observer.
    static let observerReportMilliseconds: Int64 = 60_000

    // MARK: The ingest edge

    /// How many connections are served at once, and how many from one address.
    package static let connections = 2048
    package static let connectionsPerAddress = 1024
    /// How many connections beyond those are answered with a refusal, altogether and from one address, and for how many
    /// seconds.
    package static let connectionsTurnedAway = 64
    package static let connectionsTurnedAwayPerAddress = 16
    /// Connections of the address with the most that are asked to close for one of another, of which the first idle one does.
    static let connectionsAskedToClose = 8
    static let turnedAwaySeconds: Int64 = 5
    /// Files that are open beside connections and webhooks: those of the store, the listener and the event loops.
    static let openFilesReserved = 64
    /// Minimum number of open files: fewer could not be divided in any useful way.
    package static let openFilesLeast = 128
    /// How many files may be open if the system reports no limit.
    static let openFilesAssumed = 1024
    /// How many addresses, or keys, have their request rate remembered.
    package static let ratesKept = 65_536
    /// Maximum rate that can be configured.
    static let requestsPerSecondMaximum = 1_000_000
    /// How many bytes of bodies are held at once. A body takes a small multiple of its size while it is read.
    package static let bodyBytesHeld = 256 * 1024 * 1024
    /// How much of an unread answer the kernel buffers for a client; Linux doubles the number.
    static let sendBufferBytes = 128 * 1024
    /// Maximum head of a request, in bytes and in fields.
    static let headBytes = 32 * 1024
    static let headFields = 128
    /// Permitted overhead of chunks beside the body: a constant, and a number of bytes for every byte of the body.
    static let chunkOverheadBytes = 16 * 1024
    static let chunkOverheadFactor = 8
    /// Maximum rest of a body that is read although the answer is already given.
    static let bodyRestBytes = 256 * 1024
    /// How long a connection may be without a request, and how long a request may take to arrive; see
    /// `ConnectionTimes`.
    package static let idleSeconds: Int64 = 75
    package static let headSeconds: Int64 = 10
    package static let bodyGraceSeconds: Int64 = 10
    package static let bodyBytesPerSecond = 512
    package static let requestSeconds: Int64 = 120
    package static let lingerSeconds: Int64 = 2
    /// How long a client may pause while it reads an answer that is produced as it is read; all its pauses together may
    /// not last longer than `requestSeconds`.
    static let answerSeconds: Int64 = 30
    /// Maximum number of webhook requests at once, and of connections that are kept.
    package static let slots = 65_536
    /// How many bytes of messages over streams may wait to be written, over all connections.
    static let streamBytesHeld = 64 * 1024 * 1024
    /// How many languages of an `Accept-Language` are looked at.
    static let acceptedLanguages = 16
    /// Maximum length of a language tag.
    static let languageTagBytes = 35
    /// How many notifications a replay sends in a second by default.
    package static let replaysPerSecond = 100

    // MARK: The APNs listeners

    /// Maximum number of connections, and of requests under way on each, by default.
    package static let apnsConnections = 256
    /// Connections beyond these that are served while idle ones of another address close.
    static let apnsConnectionsDisplacing = 32
    package static let apnsStreams = 1000
    /// Maximum of these numbers that can be configured.
    static let apnsStreamsMaximum = 10_000
    static let apnsConnectionsMaximum = 65_536
    /// How many connections may wait to be accepted.
    static let apnsBacklog: Int32 = 256
    /// Maximum head of a request, in bytes as HTTP/2 counts them.
    static let apnsHeadBytes = 16 * 1024
    /// Flow-control window of a connection for each request that it may have under way: most payloads are smaller.
    static let apnsWindowBytesPerStream = 4096
    /// How many bytes of bodies are held at once, over all connections.
    package static let apnsBodyBytesHeld = 64 * 1024 * 1024
    /// How many bytes of a body are discarded after the answer; then the request is cut.
    static let apnsDiscardedBytes = 64 * 1024
    /// Time limits of a connection in seconds; see `APNsTimes`.
    static let apnsPrefaceSeconds: Int64 = 5
    static let apnsFirstRequestSeconds: Int64 = 30
    static let apnsIdleSeconds: Int64 = 600
    static let apnsRequestSeconds: Int64 = 30
    static let apnsStallSeconds: Int64 = 30
    static let apnsDrainSeconds: Int64 = 5
    /// Maximum number of topics of a provider's key.
    static let providerTopics = 1000
    /// Maximum size of a file with certificates or keys.
    static let pemFileBytes = 1024 * 1024
    /// How many lanes a scrape of metrics looks at before commands of the engine have their turn.
    package static let lanesExamined = 10_000
    /// How many sessions in demo mode a gate names.
    package static let demosShown = 20
    /// How many sessions of an explanation show their predicates part by part.
    package static let explainedParts = 50
    /// Lines that a plugin's process may write into the log, and bytes of each.
    static let pluginLogLines = 200
    static let pluginLogBytes = 1024
    /// Verdicts of cached answers of a call-out, in each of two generations.
    static let pluginCacheVerdicts = 50_000
    /// Questions to a call-out that are on their way, and that wait for one of those.
    static let callOutsUnderWay = 64
    static let callOutsWaiting = 1024
    /// Commands that wait for the answers of remote rules, altogether and of one application.
    static let commandsAsking = 4096
    static let commandsAskingOfApplication = 1024
    /// Candidates that remote rules are asked about, page by page, while all of a page are vetoed.
    static let candidatesAsked = 256
    /// Webhooks that an inspector keeps, bytes of their bodies, and the longest delay of an answer, in milliseconds.
    package static let inspectedWebhooks = 500
    package static let inspectedBytes = 32 * 1024 * 1024
    static let inspectorDelay: Int64 = 600_000
}
