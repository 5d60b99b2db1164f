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

    package init(
        applications: [Application] = [], sources: [SourceDefinition] = [], resourceSets: [ResourceSet] = [],
        sessions: [SceneSession] = [],
        gates: [OnboardingGate] = [], unsettled: [UnsettledNotification] = [], replays: [Replay] = [],
        passcodeLocks: [PasscodeLock] = [],
        lastSequence: NotificationSequence = NotificationSequence(0), lastCreationSequence: Int64 = 0
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
    }
}
