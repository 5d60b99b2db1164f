package import RouterPlugin

/// A tenant: its scene manifest, its delegate endpoint, and its settings for routing and delivery.
package struct Application: Hashable, Sendable {
    package var id: ApplicationID
    package var displayName: String
    package var manifest: SceneManifest
    package var delegate: Endpoint?
    package var routing: RoutingSettings
    package var delivery: DeliverySettings
    package var gates: GateSettings
    /// The observers of the application and its sessions, in calling order.
    package var observers: [PluginID]

    package init(
        id: ApplicationID, displayName: String = "", manifest: SceneManifest = SceneManifest(),
        delegate: Endpoint? = nil, routing: RoutingSettings = RoutingSettings(),
        delivery: DeliverySettings = DeliverySettings(), gates: GateSettings = GateSettings(),
        observers: [PluginID] = []
    ) {
        self.id = id
        self.displayName = displayName
        self.manifest = manifest
        self.delegate = delegate
        self.routing = routing
        self.delivery = delivery
        self.gates = gates
        self.observers = observers
    }
}

/// Which scenes an application has: UIKit's `UIApplicationSceneManifest`.
package struct SceneManifest: Hashable, Sendable {
    /// Whether several sessions of the application role may exist at once.
    package var supportsMultipleScenes: Bool
    /// Whether the manifest allows only one session of the application role at a time on a device. Where it says
    /// nothing, any number may register, and the router creates no second one.
    package var allowsOneSceneOnly = false
    /// The user activity types that the application handles.
    package var userActivityTypes: [String]
    /// The configurations; the first of a role is its default.
    package var sceneConfigurations: [SceneConfiguration]

    package init(
        supportsMultipleScenes: Bool = false, userActivityTypes: [String] = [],
        sceneConfigurations: [SceneConfiguration] = []
    ) {
        self.supportsMultipleScenes = supportsMultipleScenes
        self.userActivityTypes = userActivityTypes
        self.sceneConfigurations = sceneConfigurations
    }

    package func configuration(named name: String) -> SceneConfiguration? {
        sceneConfigurations.first { $0.name.isSame(as: name) }
    }

    /// Activity types of the system, listed in no manifest: universal links, results of Spotlight, searches in the application.
    ///
    /// Source: Apple, "Supporting universal links in your app", `CSSearchableItemActionType`, `CSQueryContinuationActionType`.
    private static let systemActivityTypes = [
        "NSUserActivityTypeBrowsingWeb", "com.apple.corespotlightitem", "com.apple.corespotlightquery",
    ]

    /// Whether scenes of the application may restore activities of that type: a manifest that names no type does not limit
    /// them.
    func restores(_ activityType: String) -> Bool { userActivityTypes.isEmpty || takes(activityType) }

    /// Whether the application handles user activities of that type.
    package func takes(_ activityType: String) -> Bool {
        (userActivityTypes + Self.systemActivityTypes).contains { $0.isSame(as: activityType) }
    }
}

/// A kind of scene: its role, the default endpoint of its sessions, and the activities that it is for.
package struct SceneConfiguration: Hashable, Sendable {
    package var name: String
    package var role: String
    package var endpoint: Endpoint?
    /// The user activity types that choose this configuration for a new session.
    package var activityTypes: [String]

    package init(name: String, role: String, endpoint: Endpoint? = nil, activityTypes: [String] = []) {
        self.name = name
        self.role = role
        self.endpoint = endpoint
        self.activityTypes = activityTypes
    }
}

/// The URL for webhooks, the keys that sign them, and their format.
///
/// Sessions, attempts and plans hold copies of it, so its parts lie behind one reference: a copy counts one, not three.
package struct Endpoint: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    private final class Parts: Sendable {
        let url: String
        let keys: SigningKeys
        let format: DeliveryFormatChoice
        let placeholders: URLPlaceholders

        init(_ url: String, _ keys: SigningKeys, _ format: DeliveryFormatChoice) {
            self.url = url
            placeholders = URLPlaceholders(in: url)
            self.keys = keys
            self.format = format
        }
    }

    private var parts: Parts

    package init(url: String, keys: SigningKeys, format: DeliveryFormatChoice = .standard) {
        parts = Parts(url, keys, format)
    }

    /// An endpoint whose receivers connect out and acknowledge.
    ///
    /// - Parameter secret: Kept for the day on which the endpoint gets a URL; nothing that goes over a stream is signed.
    package static func stream(secret: String) -> Endpoint { Endpoint(url: streamURL, keys: SigningKeys(secret)) }

    /// The text in the place of the URL of a stream; no client can register it as a URL.
    package static let streamURL = "stream:"

    /// Whether receivers connect out, instead of being called.
    package var isStream: Bool { parts.url.utf8.count == 7 && parts.url.isSame(as: Self.streamURL) }

    /// The address of one receiver: every session that is reached by a stream has an address of its own, and with it its
    /// own breaker.
    package func address(of session: SessionID) -> String { isStream ? url + session.text : url }

    /// The places of its URL that each session fills, if it is the endpoint of a configuration.
    package var placeholders: URLPlaceholders { parts.placeholders }

    /// The endpoint of one session, which fills the placeholders.
    func filled(for session: SceneSession) -> Endpoint {
        Endpoint(url: placeholders.filled(url, for: session), keys: keys, format: format)
    }

    /// An absolute http or https URL, checked when it was registered, or `streamURL`.
    package var url: String {
        get { parts.url }
        set { parts = Parts(newValue, keys, format) }
    }
    package var keys: SigningKeys {
        get { parts.keys }
        set { parts = Parts(url, newValue, format) }
    }
    package var format: DeliveryFormatChoice {
        get { parts.format }
        set { parts = Parts(url, keys, newValue) }
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.parts === right.parts
            || left.url == right.url && left.keys == right.keys && left.format == right.format
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(url)
        hasher.combine(keys)
        hasher.combine(format)
    }

    /// The URL alone: a secret is never printed.
    package var description: String { url }
    /// The URL alone: a secret is never printed.
    package var customMirror: Mirror { Mirror(self, children: ["url": url]) }
}

/// The routing settings of an application.
package struct RoutingSettings: Hashable, Sendable {
    /// Whether a session that prefers a content must also be able to show it. Off, as in Apple's own sample.
    package var prefersRequiresCan: Bool
    /// Whether notifications without a content id are refused. Off: they go to the most relevant session.
    package var requiresContentID: Bool
    /// Whether a request may ask for a notification for each session that can have it.
    package var broadcasts: Bool

    package init(prefersRequiresCan: Bool = false, requiresContentID: Bool = false, broadcasts: Bool = false) {
        self.prefersRequiresCan = prefersRequiresCan
        self.requiresContentID = requiresContentID
        self.broadcasts = broadcasts
    }
}

/// The delivery settings of an application.
package struct DeliverySettings: Hashable, Sendable {
    /// The time limit of one attempt.
    package var timeoutSeconds: Int
    /// How many deliveries of one session may be under way at once; 1 keeps strict order.
    package var maxInFlightPerSession: Int
    /// The waits between attempts; there is one more attempt than waits.
    package var retrySchedule: [Int]
    /// Actions on statuses that differ from the usual ones.
    package var statuses: StatusTable
    package var reroute: RerouteSettings
    /// How many attempts the application may start in its turn, when other applications wait too.
    package var weight: Int
    package var headOfLine: HeadOfLine
    /// Whether scenes and the delegate receive life-cycle events.
    package var lifeCycleEvents: Bool

    package init(
        timeoutSeconds: Int = 15, maxInFlightPerSession: Int = 1,
        retrySchedule: [Int] = RetryPolicy.standardWebhooksSchedule, statuses: StatusTable = StatusTable(),
        reroute: RerouteSettings = RerouteSettings(), weight: Int = 1, headOfLine: HeadOfLine = .block,
        lifeCycleEvents: Bool = true
    ) {
        self.timeoutSeconds = timeoutSeconds
        self.maxInFlightPerSession = maxInFlightPerSession
        self.retrySchedule = retrySchedule
        self.statuses = statuses
        self.reroute = reroute
        self.weight = weight
        self.headOfLine = headOfLine
        self.lifeCycleEvents = lifeCycleEvents
    }
}

/// The fate of deliveries behind one that waits for its retry.
package enum HeadOfLine: Hashable, Sendable {
    /// They wait: order is kept.
    case block
    /// They wait for the first attempts of the delivery, two or more, and then overtake it.
    case skip(afterAttempts: Int)
    /// They overtake it at once, while it waits for its retry.
    case park

    /// The number of attempts after which the delivery may be overtaken; nil for never.
    package var overtakenAfter: Int? {
        switch self {
        case .block: nil
        case .skip(let attempts): attempts
        case .park: 1
        }
    }

    package init(overtakenAfter attempts: Int?) {
        switch attempts {
        case nil: self = .block
        case 1?: self = .park
        case let attempts?: self = .skip(afterAttempts: attempts)
        }
    }
}

/// Conditions under which a delivery is re-routed to the next best session although its own session still exists.
package struct RerouteSettings: Hashable, Sendable {
    /// Whether a delivery whose retry schedule is used up is re-routed.
    package var onExhausted: Bool
    /// Whether it is re-routed even if one of its attempts may have arrived: two sessions may then show the same
    /// content.
    package var onTimeout: Bool

    package init(onExhausted: Bool = false, onTimeout: Bool = false) {
        self.onExhausted = onExhausted
        self.onTimeout = onTimeout
    }
}
