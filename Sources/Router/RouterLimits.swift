/// Every bound of the core, in one place.
package enum RouterLimits {
    /// Greatest payload in bytes.
    package static let payloadBytes = 256 * 1024
    /// How much of a response is read, in bytes.
    package static let responseBytes = 16 * 1024
    /// How much is read of a session's: what it may answer has two JSON values of `userInfoBytes` each.
    package static let answerBytes = 2 * userInfoBytes + responseBytes
    /// How much of a response is kept with the attempt, in bytes.
    package static let responseExcerptBytes = 1024
    /// Most candidates that an explanation shows.
    package static let explainedCandidates = 1000
    /// After how many steps an explanation shows no further candidate: bytes that predicates compare, as `IndexEffort` counts
    /// them, and some for each question to one.
    package static let explanationSteps = 64 * 1024 * 1024
    package static let explanationStepsOfQuestion = 512
    /// With more applications than that, none is asked whether a device that a request names is its own.
    package static let applicationsAsked = 1000
    /// How many resources a refusal names.
    package static let resourcesNamed = 3
    /// Most commands that share one transaction.
    package static let commandsPerTransaction = 512
    /// Most notifications that a transaction forgets, and how many bytes of payloads: nobody waits long for it.
    package static let forgottenPerTransaction = 128
    package static let forgottenBytesPerTransaction = 1024 * 1024
    /// How long retention rests when it has forgotten all that was due, in milliseconds.
    package static let retentionPauseMilliseconds: Int64 = 60_000
    /// About what a row takes with its place in the indexes, in bytes.
    package static let rowBytes = 1024
    /// How much is written at most until retention looks how large the store has become, in bytes.
    package static let retentionLookBytes = 16 * 1024 * 1024
    /// Most payload bytes kept in memory for deliveries that wait; beyond that they are read back from the store.
    package static let payloadBytesInMemory = 64 * 1024 * 1024
    /// Most replays that may be under way at a time.
    package static let replaysRunning = 16
    /// How many replays that have ended are remembered; and how many there may be if more were asked for under keys.
    package static let replaysRemembered = 100
    package static let replaysRepeatable = 10_000
    /// Most notifications that a replay sends in a second.
    package static let replaysPerSecond = 1000
    /// How many notifications a step of a replay looks at: it must not keep others waiting.
    package static let replayRowsExamined = 1000
    /// Most events that one request of a source may carry: they share a transaction.
    package static let eventsPerRequest = 1000
    /// Passes of a filter times bytes of the payload, for all events of a request: 16 Mi, some tenths of a second at most.
    package static let filterWork = 16 * 1024 * 1024
    /// Greatest key under which an event may be repeated, in bytes.
    package static let dedupeKeyBytes = 512
    /// Most sources of an application, and most secrets of a source.
    package static let sourcesPerApplication = 1000
    package static let secretsPerSource = 10
    /// Longest wait that a receiver may ask for, in seconds.
    package static let retryAfterSeconds = 24 * 60 * 60
    /// Most vetoed candidates that a decision remembers.
    package static let vetoesKept = 64
    /// Longest reason kept of a rule, in bytes.
    package static let reasonBytes = 256
    /// Greatest size of a session's userInfo or restoration activity, in bytes.
    package static let userInfoBytes = 64 * 1024
    /// For how long the scene of a session that was discarded is tried to be told, in milliseconds.
    package static let farewellMilliseconds: Int64 = 60_000
    /// For how long the delegate is asked for the configuration of a new session, in milliseconds.
    package static let configurationMilliseconds: Int64 = 15_000
    /// Most sessions that a delegate is told of at once.
    package static let discardedSessions = 1000
    /// Most sessions that are told of what has become of their gate: the best ones.
    package static let sessionsToldOfGate = 1000
    /// Longest name under which a client keeps what onboarding has come to, and longest word of a report, in bytes.
    package static let gateTextBytes = 256
    /// Longest message of a report, and longest parameter, in bytes.
    package static let progressTextBytes = 1024
    /// Most parameters of a report.
    package static let progressParameters = 16
    /// Greatest number of steps in a report.
    package static let progressSteps: Int64 = 1_000_000
    /// Most languages that an application has prompts in.
    package static let promptLanguages = 64
    /// Longest text of a prompt, in bytes.
    package static let promptBytes = 1024
    /// Most observers that an application, or a session, has.
    package static let observers = 16
    /// Most entries in a manifest's lists.
    package static let manifestEntries = 256
    /// Greatest size of the options of an endpoint's format, in bytes.
    package static let formatBytes = 32 * 1024
    /// Most keys of an endpoint, those that have not begun to sign included; receivers look at sixteen signatures.
    package static let signingKeys = 10
    /// Longest time for which a secret that was exchanged still signs, in seconds.
    package static let secretOverlapSeconds: Int64 = 7 * 24 * 60 * 60
    /// An endpoint that takes this long for an answer counts as slow.
    package static let slowAttemptMilliseconds: Int64 = 5000
    /// So many quicker answers in a row, and it does not any more.
    package static let quickAnswersToRecover = 3
    /// How long an endpoint that was in trouble is remembered when nothing is sent there, in milliseconds.
    package static let endpointMemoryMilliseconds: Int64 = 10 * 60 * 1000
    /// How many attempts of one application may be under way for each slot that is free. One by itself has eight of nine,
    /// two have eight of seventeen each; so there is always something left for whoever comes.
    package static let attemptsPerFreeSlot = 8
    /// How many applications are kept count of, whether or not they have anything under way.
    static let sharesKept = 64
    /// How many deliveries of a lane that wait for their retry may be overtaken at a time.
    package static let overtakenDeliveries = 64
    /// How many entries of a lane's times may be of deliveries that are gone, beside as many as there are deliveries.
    static let expiriesPassedOver = 64
    /// How many timers may be of what is gone, beside as many as there are others.
    package static let timersPassedOver = 64
    /// Greatest weight of an application.
    package static let weight = 100
    /// With so many redirects in a row an endpoint is reported.
    package static let redirectsToReport = 3
    /// Most steps in a retry schedule.
    package static let retrySteps = 64
    /// Most rules for statuses that an application may have.
    package static let statusRules = 64
    /// What a hash of a passcode may cost that was kept: scrypt's parameters, and the memory that they come to, in bytes.
    package static let passcodeLogRounds = 1...24
    package static let passcodeBlockSize = 1...64
    package static let passcodeParallelism = 1...64
    package static let passcodeMemoryBytes = 256 * 1024 * 1024
    /// Greatest length that a policy may ask of passcodes, in characters, and greatest limit of tries.
    package static let passcodeLength = 128
    package static let passcodeRetries: Int64 = 1000
    /// Longest time until an application that was left is locked, in seconds, and until a passcode has to be changed, in days.
    package static let passcodeLockSeconds: Int64 = 30 * 24 * 60 * 60
    package static let passcodeDays: Int64 = 3650
    /// For how long a passcode may be compared, in milliseconds; until then no other is.
    package static let passcodeTrialMilliseconds: Int64 = 10_000
    /// After how many wrong passcodes in a row the next one has to wait, and for how long at most, in seconds.
    package static let passcodeTriesAtOnce = 3
    package static let passcodeDelaySeconds: Int64 = 300
    /// For how long a challenge may be answered, in milliseconds.
    package static let deviceChallengeMilliseconds: Int64 = 60_000
}
