package import RouterPlugin

/// The data from which the engine is built at start.
package struct RecoveredState: Hashable, Sendable {
    package var applications: [Application]
    /// In order of their names.
    package var sources: [SourceDefinition]
    /// In order of their names.
    package var resourceSets: [ResourceSet]
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
        applications: [Application] = [], sources: [SourceDefinition] = [], resourceSets: [ResourceSet] = [],
        sessions: [SceneSession] = [],
        gates: [OnboardingGate] = [], unsettled: [UnsettledNotification] = [], replays: [Replay] = [],
        passcodeLocks: [PasscodeLock] = [],
        lastSequence: NotificationSequence = NotificationSequence(0), lastCreationSequence: Int64 = 0,
        newestTime: Timestamp? = nil
    ) {
        self.applications = applications
        self.sources = sources
        self.resourceSets = resourceSets
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
