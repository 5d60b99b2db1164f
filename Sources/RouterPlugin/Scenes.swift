/// The distance of a scene from the person, as in UIKit's `UIScene.ActivationState`.
///
/// The raw values are the rank in the choice: a greater one is preferred.
public enum ActivationState: UInt8, CaseIterable, Comparable, Sendable {
    /// Known, but not connected: it is told to connect when a notification is for it.
    case unattached = 0
    /// Connected, not on screen.
    case background = 1
    /// On screen, not receiving events.
    case foregroundInactive = 2
    /// On screen and receiving events.
    case foregroundActive = 3

    /// The name on the wire, UIKit's own.
    public var name: String {
        switch self {
        case .unattached: "unattached"
        case .background: "background"
        case .foregroundInactive: "foregroundInactive"
        case .foregroundActive: "foregroundActive"
        }
    }

    /// The state with that name on the wire.
    public init?(name: String) {
        guard let state = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = state
    }

    /// Order of closeness to the person.
    public static func < (lhs: ActivationState, rhs: ActivationState) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// The reason why a receiver is the best one.
public enum Tier: String, CaseIterable, Sendable {
    /// A session whose *prefers* predicate holds.
    case prefers
    /// A session whose *can* predicate holds, or any session if the content is not named.
    case can
    /// No session can, but the manifest allows a new one.
    case newSession
    /// No session can have it.
    case undeliverable
}

/// A session that takes part in a choice, as routing rules see it.
public struct Candidate: Hashable, Sendable {
    /// The session.
    public let session: SessionID
    /// The device that it is registered for, if any.
    public let device: DeviceID?
    /// The scene role, such as `windowApplication`.
    public let role: String
    /// The name of its scene configuration.
    public let configuration: String
    /// Its distance from the person.
    public let activationState: ActivationState
    /// When it last became active; nil if it never was.
    public let lastActivatedAt: Timestamp?
    /// The preference level of its conditions; counts in tier `prefers` only.
    public let preferenceLevel: Int
    /// The tier of the candidate.
    public let tier: Tier
    /// Its `userInfo` as JSON, which few rules read.
    package let userInfoText: [UInt8]

    /// The values that its client keeps with it, an object; parsed at each call.
    public var userInfo: JSONValue {
        (try? JSONValue(parsing: userInfoText)) ?? .object(JSONObject())
    }

    /// All parts at once.
    public init(
        session: SessionID, device: DeviceID?, role: String, configuration: String, activationState: ActivationState,
        lastActivatedAt: Timestamp?, preferenceLevel: Int, tier: Tier, userInfo: JSONObject = JSONObject()
    ) {
        self.init(
            session: session, device: device, role: role, configuration: configuration,
            activationState: activationState, lastActivatedAt: lastActivatedAt, preferenceLevel: preferenceLevel,
            tier: tier, userInfoText: userInfo.isEmpty ? [] : JSONValue.object(userInfo).serialized())
    }

    package init(
        session: SessionID, device: DeviceID?, role: String, configuration: String, activationState: ActivationState,
        lastActivatedAt: Timestamp?, preferenceLevel: Int, tier: Tier, userInfoText: [UInt8]
    ) {
        self.userInfoText = userInfoText
        self.session = session
        self.device = device
        self.role = role
        self.configuration = configuration
        self.activationState = activationState
        self.lastActivatedAt = lastActivatedAt
        self.preferenceLevel = preferenceLevel
        self.tier = tier
    }
}
