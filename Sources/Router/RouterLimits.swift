/// The bounds of the core, in one place.
package enum RouterLimits {
    /// Maximum payload in bytes.
    package static let payloadBytes = 256 * 1024
    /// How much of a response is read, in bytes.
    package static let responseBytes = 16 * 1024
    /// How much of a session's response is read: its answer may have two JSON values of `userInfoBytes` each.
    package static let answerBytes = 2 * userInfoBytes + responseBytes
    /// How much of a response is kept with the attempt, in bytes.
    package static let responseExcerptBytes = 1024
    /// Maximum number of header fields that a rule adds to a webhook, and of bytes of their names and values; and of the
    /// fields that all rules add together.
    package static let addedHeadersOfRule = 8
    package static let addedHeaderBytesOfRule = 1024
    package static let addedHeaders = 16
    /// How many of the last notifications rules look at: those about the same content, and those of the application.
    package static let takenOfContent = 64
    package static let takenOfApplication = 512
    /// Maximum number of candidates that an explanation shows.
    package static let explainedCandidates = 1000
    /// The number of steps after which an explanation shows no further candidate: bytes that predicates compare, as
    /// `IndexEffort` counts them, and a constant for each evaluation.
    package static let explanationSteps = 64 * 1024 * 1024
    /// Steps that the decisions of an application may take in a round before the next ones wait in its line, and steps that
    /// each decision may take in any case. A step takes about a nanosecond.
    package static let decisionSteps = 512 * 1024
    package static let decisionStepsAtLeast = 64 * 1024
    /// Steps for which a decision from a line goes on in one turn, and steps of all turns in a round.
    package static let stepsPerTurn = 1024 * 1024
    package static let stepsPerRound = 2 * 1024 * 1024
    /// Maximum number of commands of one application that wait for a decision to be finished.
    package static let commandsInLine = 4096
    /// Maximum number of applications among which the owner of a device that a request names is searched; with more, the
    /// search is left out.
    package static let applicationsAsked = 1000
    /// How many resources a refusal names.
    package static let resourcesNamed = 3
    /// Maximum number of commands that share one transaction.
    package static let commandsPerTransaction = 256
    /// The number of changed rows after which no further command joins a transaction: other commands must not wait long for
    /// it.
    package static let rowsPerTransaction = 2048
    /// Sum of the weights of lookups (`Lookup.weight`) after which no further command joins a read of facts: all facts of a
    /// read are in memory together.
    package static let lookupsPerRead = 512
    /// Maximum number of notifications that a transaction deletes, and of bytes of their payloads: other commands must
    /// not wait long for it.
    package static let forgottenPerTransaction = 128
    package static let forgottenBytesPerTransaction = 1024 * 1024
    /// How long retention rests when it has deleted all that was due, in milliseconds.
    package static let retentionPauseMilliseconds: Int64 = 60_000
    /// Approximate size of a row with its place in the indexes, in bytes.
    package static let rowBytes = 1024
    /// Maximum number of bytes written before retention checks the size of the store again.
    package static let retentionLookBytes = 16 * 1024 * 1024
    /// Maximum number of payload bytes kept in memory for waiting deliveries; beyond that they are read back from the
    /// store.
    package static let payloadBytesInMemory = 64 * 1024 * 1024
    /// Maximum number of replays under way at a time, of all applications and of one; the last quarter of all is kept for
    /// applications that have none.
    package static let replaysRunning = 64
    package static let replaysRunningPerApplication = 4
    /// How many ended replays of an application are kept; and how many if clients requested more of them under keys.
    package static let replaysRemembered = 100
    package static let replaysRepeatable = 10_000
    /// Maximum number of notifications that a replay sends in a second.
    package static let replaysPerSecond = 1000
    /// How many notifications a step of a replay looks at: other commands must not wait long for it.
    package static let replayRowsExamined = 256
    /// Maximum number of events in one request of a source: they share a transaction.
    package static let eventsPerRequest = 1000
    /// Maximum number of notifications of a broadcast, and of bytes of their payloads together: they share a transaction.
    package static let broadcastSessions = eventsPerRequest
    package static let broadcastBytes = 16 * 1024 * 1024
    /// Passes of a filter times bytes of the payload, for all events of a request: 16 Mi, some tenths of a second at most.
    package static let filterWork = 16 * 1024 * 1024
    /// Maximum length of an event's idempotency key, in bytes.
    package static let dedupeKeyBytes = 512
    /// Default limits of an application: sessions, and bytes of all registrations. A million phones with 200 bytes and a gate
    /// each are within both.
    package static let sessionsPerApplication = 2_000_000
    package static let sessionBytesPerApplication = 512 * 1024 * 1024
    /// Maximum number of steps that a decision may take for one predicate, which is evaluated in one go, and for all
    /// predicates of an application: four million searches for a text. Both are counted for the longest content id.
    package static let stepsPerPredicate = 64 * 1024 * 1024
    package static let predicateStepsPerApplication = 256 * 1024 * 1024 * 1024
    /// Maximum number of rules for one application, and of steps of their conditions for the longest payload: in one
    /// comparison, made in one go, and in all.
    package static let rulesPerApplication = 1000
    package static let stepsPerRuleComparison = 128 * 1024 * 1024
    package static let ruleStepsPerApplication = 16 * 1024 * 1024 * 1024
    /// Maximum number of steps for the comparison of one candidate with values of the payload, by all rules together. A
    /// comparison beyond it never holds.
    package static let payloadStepsPerVerdict = 64 * 1024
    package static let contentIDBytes = 4096
    /// Maximum number of sources of an application, and of secrets of a source.
    package static let sourcesPerApplication = 1000
    package static let secretsPerSource = 10
    /// Maximum number of API keys created by requests: for each application, and without an application.
    package static let keysPerApplication = 100
    /// Lines of the log of changes kept for each application, and for changes of none.
    package static let changesKept = 10_000
    /// Maximum wait that a receiver may ask for, in seconds.
    package static let retryAfterSeconds = 24 * 60 * 60
    /// Maximum number of vetoed candidates that a decision keeps.
    package static let vetoesKept = 64
    /// Maximum length of a rule's reason, in bytes.
    package static let reasonBytes = 256
    /// Maximum size of a session's userInfo or restoration activity, in bytes.
    package static let userInfoBytes = 64 * 1024
    /// Greatest gap between the newest time in the store and the clock at a start, in milliseconds: beyond seven days the
    /// clock is doubted.
    package static let clockGapMilliseconds: Int64 = 7 * 24 * 60 * 60 * 1000
    /// Time before a doubted clock is trusted without an operator's word, in milliseconds: a day.
    package static let clockDoubtMilliseconds: Int64 = 24 * 60 * 60 * 1000
    /// How long the daemon tries to tell the scene of a discarded session, in milliseconds.
    package static let discardGraceMilliseconds: Int64 = 60_000
    /// Verdicts that cannot be followed, of which the reason of a decision tells.
    package static let remarksKept = 4
    /// How long a rule may hold a notification after it has come: 366 days. A longer hold of a remote rule is a fault, one of
    /// another rule ends then.
    package static let holdMilliseconds: Int64 = 366 * 86_400_000
    /// The same in words.
    package static let holdWords = "366 days"
    /// How long the daemon asks the delegate for the configuration of a new session, in milliseconds.
    package static let configurationMilliseconds: Int64 = 15_000
    /// Maximum number of discarded sessions in one event for the delegate.
    package static let discardedSessions = 1000
    /// Approximate size of a gate in memory beside its texts, in bytes.
    static let gateBytes = 256
    /// How many operations a gate keeps the progress of.
    package static let gateOperations = 16
    /// The time after which the lease of a session with a connection is looked at again, in milliseconds: the lease matters when
    /// the connection and its grace period have ended, and these end it themselves.
    package static let leaseReviewMilliseconds: Int64 = 600_000
    /// The lease of the responsible session at a gate if it names none, in milliseconds.
    package static let gateLeaseMilliseconds: Int64 = 60_000
    /// How often the endpoint of such a session may fail to take one event until the session counts as silent.
    package static let gateFailures = 2
    /// Maximum number of sessions that are told of a change of their gate: the best-ranked ones.
    package static let sessionsToldOfGate = 1000
    /// Maximum length of the name under which a client keeps the result of onboarding, and of a word in a report, in
    /// bytes.
    package static let gateTextBytes = 256
    /// Maximum length of the message of a report, and of a parameter, in bytes.
    package static let progressTextBytes = 1024
    /// Maximum number of parameters of a report.
    package static let progressParameters = 16
    /// Maximum number of steps in a report.
    package static let progressSteps: Int64 = 1_000_000
    /// Maximum number of languages of an application's prompts.
    package static let promptLanguages = 64
    /// Maximum length of the text of a prompt, in bytes.
    package static let promptBytes = 1024
    /// Maximum number of observers of an application or a session.
    package static let observers = 16
    /// Maximum number of entries in a manifest's lists.
    package static let manifestEntries = 256
    /// Maximum size of the options of an endpoint's format, in bytes.
    package static let formatBytes = 32 * 1024
    /// Maximum number of keys of an endpoint, including those that do not sign yet; receivers look at sixteen
    /// signatures.
    package static let signingKeys = 10
    /// Maximum time for which a replaced secret still signs, in seconds.
    package static let secretOverlapSeconds: Int64 = 7 * 24 * 60 * 60
    /// Duration of an attempt from which the endpoint counts as slow.
    package static let slowAttemptMilliseconds: Int64 = 5000
    /// Number of quicker answers in a row after which it no longer does.
    package static let quickAnswersToRecover = 3
    /// How long an endpoint with failures is remembered when no attempt is made there, in milliseconds.
    package static let endpointMemoryMilliseconds: Int64 = 10 * 60 * 1000
    /// How many attempts of one application may be under way for each free slot. A single application has eight of nine
    /// slots, and two have eight of seventeen each; so a slot is always left for another application.
    package static let attemptsPerFreeSlot = 8
    /// How many applications keep a counter, whether or not they have attempts under way.
    static let sharesKept = 64
    /// How many deliveries of a lane that wait for their retry may be overtaken at a time.
    package static let overtakenDeliveries = 64
    /// How many entries of a lane's expiry queue may belong to deliveries that have left, beyond the number of
    /// deliveries.
    static let expiriesPassedOver = 64
    /// How many stale timers there may be, beyond the number of live ones.
    package static let timersPassedOver = 64
    /// Maximum weight of an application.
    package static let weight = 100
    /// Number of redirects in a row after which an endpoint is reported.
    package static let redirectsToReport = 3
    /// Maximum number of steps in a retry schedule.
    package static let retrySteps = 64
    /// Maximum number of status rules of an application.
    package static let statusRules = 64
    /// Maximum cost of a stored passcode hash: scrypt's parameters, and the memory that they require, in bytes.
    package static let passcodeLogRounds = 1...24
    package static let passcodeBlockSize = 1...64
    package static let passcodeParallelism = 1...64
    package static let passcodeMemoryBytes = 256 * 1024 * 1024
    /// Maximum length that a policy may require of passcodes, in characters, and maximum limit of tries.
    package static let passcodeLength = 128
    package static let passcodeRetries: Int64 = 1000
    /// Maximum time until an application that was left is locked, in seconds, and until a passcode has to be changed,
    /// in days.
    package static let passcodeLockSeconds: Int64 = 30 * 24 * 60 * 60
    package static let passcodeDays: Int64 = 3650
    /// How long a passcode may take to be compared, in milliseconds; no other one is compared in the meantime.
    package static let passcodeTrialMilliseconds: Int64 = 10_000
    /// Number of wrong passcodes in a row after which the next one has to wait, and the maximum of that wait, in
    /// seconds.
    package static let passcodeTriesAtOnce = 3
    package static let passcodeDelaySeconds: Int64 = 300
    /// How long a challenge may be answered, in milliseconds.
    package static let deviceChallengeMilliseconds: Int64 = 60_000
    /// Likewise by a token, for which a person may have to sign in: ten minutes.
    package static let proofChallengeMilliseconds: Int64 = 600_000
    /// How far the clock of an issuer may be ahead, in milliseconds.
    package static let proofClockSkewMilliseconds: Int64 = 60_000
    /// Maximum number of issuers of proofs of an application, and of the keys of each.
    package static let proofIssuers = 8
    package static let proofKeys = 16
    /// Maximum length of the name of an issuer, an audience, a key or a subject, and of a token, in bytes.
    package static let proofTextBytes = 512
    package static let proofTokenBytes = 16 * 1024
    /// Maximum number of origins of a relying party.
    package static let relyingPartyOrigins = 8
    /// The size of an RSA key's modulus, in bytes.
    static let proofModulusBytes = 256...512
    /// The time for which a session counts as connected without a connection to its stream, in seconds.
    package static let presenceSeconds = 10
    /// Attempts over streams that are under way at once. Each is an entry of some 300 bytes, and its message until that is
    /// written.
    package static let streamSlots = 4096
    /// Maximum number of deliveries and lanes of one redecision step.
    static let redecisionsPerTransaction = 64
    /// Maximum number of moved deliveries named to the next connection of their former session.
    static let movedKept = 64
    /// Maximum number of unreachable candidates of a tier before a redecision ignores the rest.
    static let unreachedCandidates = 1000
    /// Estimated time of one redecision, in microseconds; each candidate adds one.
    static let redecisionMicroseconds: Int64 = 10
    /// Maximum estimated time of one redecision step, in microseconds.
    static let redecisionEffort: Int64 = 2000
    /// Pause after a search in all lanes of an application, as a multiple of its estimated time.
    static let redecisionPause: Int64 = 10
}
