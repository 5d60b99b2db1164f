package import RouterPlugin

/// The sessions of one application that take part in routing. A registry answers one question: which session is best
/// for this content?
///
/// `IndexedRegistry` answers in well under a microsecond; `LinearRegistry` looks at every session and is the reference
/// that the index is compared with. Both give the same answer to the same history of calls.
///
/// Answers hold session ids only: the caller has the sessions, and a registry of a million need not keep them twice.
///
/// The order of candidates within a tier is total: higher preference level (tier `prefers` only), then activation
/// state, then most recent activation, then earliest creation.
package protocol SessionRegistry: Sendable {
    init()

    /// The number of sessions that take part.
    var count: Int { get }
    /// Grows with every change; stored with each decision.
    var version: UInt64 { get }

    /// Adds a session, or replaces the session with its id.
    mutating func insert(_ entry: RegistryEntry)
    /// Removes a session; false if there is none with that id.
    @discardableResult
    mutating func remove(_ session: SessionID) -> Bool
    /// Changes the rank of a session without touching its predicates; false if there is none with that id.
    @discardableResult
    mutating func setState(_ session: SessionID, _ state: ActivationState, lastActivatedAt: Timestamp?) -> Bool

    /// Whether the session takes part.
    func contains(_ session: SessionID) -> Bool
    /// The best session of the first tier that has one.
    func best(for query: RegistryQuery) -> RegistryMatch?
    /// Shows the sessions of a tier, best first, until `visit` returns false.
    func visit(_ tier: MatchTier, for query: RegistryQuery, _ visit: (SessionID) -> Bool)
    /// Shows every session in scope, in any order, until `visit` returns false.
    func visitAll(device: DeviceID?, _ visit: (SessionID) -> Bool)
}

/// A query to a registry.
package struct RegistryQuery: Sendable {
    // Texts that are always present: to copy an optional text, Swift looks its type up at run time, and that takes a
    // sixth of a decision.
    private let deviceText: String
    private let subjectText: String
    /// Whether the query is about all devices.
    package let isForAllDevices: Bool
    private let isAboutContent: Bool
    /// Whether a session that prefers a content must also be able to show it.
    package let prefersRequiresCan: Bool

    package init(device: DeviceID? = nil, contentID: ContentID?, prefersRequiresCan: Bool = false) {
        (deviceText, isForAllDevices) = (device?.text ?? "", device == nil)
        (subjectText, isAboutContent) = (contentID?.text ?? "", contentID != nil)
        self.prefersRequiresCan = prefersRequiresCan
    }

    /// Only sessions registered for this device; nil for all.
    package var device: DeviceID? { isForAllDevices ? nil : DeviceID(unchecked: deviceText) }

    /// The subject of the predicates; nil if the content is not named, and then every session can.
    package var subject: String? { isAboutContent ? subjectText : nil }
}

/// The tiers of a registry; the choice adds the other two.
package enum MatchTier: CaseIterable, Sendable {
    case prefers, can

    package var tier: Tier { self == .prefers ? .prefers : .can }
}

/// The best session and its tier.
package struct RegistryMatch: Hashable, Sendable {
    package var tier: MatchTier
    package var session: SessionID

    package init(tier: MatchTier, session: SessionID) {
        self.tier = tier
        self.session = session
    }
}

/// A session as a registry takes it: the facts needed to match and to rank it.
package struct RegistryEntry: Hashable, Sendable {
    package var session: SessionID
    package var device: DeviceID?
    package var conditions: ActivationConditions
    package var state: ActivationState
    package var lastActivatedAt: Timestamp?
    package var creationSequence: Int64

    package init(
        session: SessionID, device: DeviceID? = nil, conditions: ActivationConditions = ActivationConditions(),
        state: ActivationState = .unattached, lastActivatedAt: Timestamp? = nil, creationSequence: Int64
    ) {
        self.session = session
        self.device = device
        self.conditions = conditions
        self.state = state
        self.lastActivatedAt = lastActivatedAt
        self.creationSequence = creationSequence
    }

    package init(_ session: SceneSession) {
        self.init(
            session: session.key.session, device: session.device, conditions: session.conditions,
            state: session.activationState, lastActivatedAt: session.lastActivatedAt,
            creationSequence: session.creationSequence)
    }
}

extension SceneSession {
    /// The session in the form that rules receive.
    package func candidate(in tier: Tier) -> Candidate {
        Candidate(
            session: key.session, device: device, role: role, configuration: configuration,
            activationState: activationState, lastActivatedAt: lastActivatedAt,
            preferenceLevel: conditions.preferenceLevel, tier: tier, userInfoText: userInfo.bytes)
    }
}

/// The rank of a session within a tier; the smaller rank is the better one.
package struct Rank: Hashable, Comparable, Sendable {
    private let level: Int
    private let state: ActivationState
    private let lastActivatedAt: Int64
    private let creationSequence: Int64

    package init(_ entry: RegistryEntry, in tier: MatchTier) {
        level = tier == .prefers ? entry.conditions.preferenceLevel : 0
        state = entry.state
        lastActivatedAt = entry.lastActivatedAt?.milliseconds ?? .min
        creationSequence = entry.creationSequence
    }

    package static func < (lhs: Rank, rhs: Rank) -> Bool {
        if lhs.level != rhs.level { return lhs.level > rhs.level }
        if lhs.state != rhs.state { return lhs.state > rhs.state }
        if lhs.lastActivatedAt != rhs.lastActivatedAt { return lhs.lastActivatedAt > rhs.lastActivatedAt }
        return lhs.creationSequence < rhs.creationSequence
    }
}
