package import RouterPlugin

/// The data from which the engine is built at start.
package struct RecoveredState: Hashable, Sendable {
    /// In order of their names; those whose deletion has begun are in `deletions`.
    package var applications: [Application]
    /// Applications whose deletion has begun, in order of their names. Nothing that belongs to them is recovered but their
    /// unsettled notifications.
    package var deletions: [Application]
    /// In order of their names.
    package var sources: [SourceDefinition]
    /// In order of their names.
    package var resourceSets: [ResourceSet]
    /// API keys created by requests, by name.
    package var keys: [APIKey]
    /// The rules in use; nil if rules were never kept.
    package var rules: KeptRules?
    /// In order of creation.
    package var sessions: [SceneSession]
    /// In order of their keys.
    package var gates: [OnboardingGate]
    /// In order of acceptance.
    package var unsettled: [UnsettledNotification]
    /// In order of their ids.
    package var replays: [Replay]
    /// In order of their keys.
    package var passcodeLocks: [PasscodeLock]
    /// The greatest sequence ever given; the next one is greater.
    package var lastSequence: NotificationSequence
    /// Likewise for sessions.
    package var lastCreationSequence: Int64
    /// The latest of three times: of the last acceptance, of the last settlement, and of the last kept answer. Nil if nothing
    /// of these is kept.
    package var newestTime: Timestamp?

    package init(
        applications: [Application] = [], deletions: [Application] = [],
        sources: [SourceDefinition] = [], resourceSets: [ResourceSet] = [],
        keys: [APIKey] = [], rules: KeptRules? = nil, sessions: [SceneSession] = [],
        gates: [OnboardingGate] = [], unsettled: [UnsettledNotification] = [], replays: [Replay] = [],
        passcodeLocks: [PasscodeLock] = [],
        lastSequence: NotificationSequence = NotificationSequence(0), lastCreationSequence: Int64 = 0,
        newestTime: Timestamp? = nil
    ) {
        self.applications = applications
        self.deletions = deletions
        self.sources = sources
        self.resourceSets = resourceSets
        self.keys = keys
        self.rules = rules
        self.sessions = sessions
        self.gates = gates
        self.unsettled = unsettled
        self.replays = replays
        self.passcodeLocks = passcodeLocks
        self.lastSequence = lastSequence
        self.lastCreationSequence = lastCreationSequence
        self.newestTime = newestTime
    }
}
