import Router
import RouterPlugin

/// A session in a table, with UIKit's defaults for the rest.
struct Scene {
    var id: SessionID
    var can = "TRUEPREDICATE"
    var prefers = "FALSEPREDICATE"
    var state = ActivationState.background
    var level = 0
    /// The second of its last activation.
    var activated: Int64?
    var device: DeviceID?
    var disabled = false
    var userInfo = JSONObject()

    init(
        _ id: SessionID, can: String = "TRUEPREDICATE", prefers: String = "FALSEPREDICATE",
        _ state: ActivationState = .background, level: Int = 0, activated: Int64? = nil, device: DeviceID? = nil,
        disabled: Bool = false
    ) {
        self.id = id
        self.can = can
        self.prefers = prefers
        self.state = state
        self.level = level
        self.activated = activated
        self.device = device
        self.disabled = disabled
    }

    /// The session, at that place in the order of creation.
    func session(of application: ApplicationID = .gallery, created: Int64) -> SceneSession {
        SceneSession(
            key: SessionKey(application: application, session: id), role: SceneRole.windowApplication,
            configuration: "Default", device: device, activationState: state,
            conditions: ActivationConditions(
                canActivate: .format(can), prefersToActivate: .format(prefers), preferenceLevel: level),
            endpoint: Endpoint(url: "https://\(id).example/", secret: "whsec_c2VjcmV0"),
            userInfo: JSONDocument(.object(userInfo)),
            lastActivatedAt: activated.map { .second($0) }, creationSequence: created,
            disabled: disabled ? Disabled(.gone, since: .epoch) : nil)
    }
}

extension ApplicationID {
    static let gallery: ApplicationID = "com.example.Gallery"
    static let other: ApplicationID = "com.example.Other"
}

extension Application {
    /// An application with one configuration, which has the endpoint of its sessions.
    static func gallery(
        _ id: ApplicationID = .gallery, multipleScenes: Bool = false, strict: Bool = false,
        configurations: [SceneConfiguration] = [.standard], inFlight: Int = 1, schedule: [Int] = [5, 300, 1800],
        statuses: StatusTable = StatusTable(), reroute: RerouteSettings = RerouteSettings(),
        headOfLine: HeadOfLine = .block, delegate: Endpoint? = nil, lifeCycleEvents: Bool = false
    ) -> Application {
        Application(
            id: id, displayName: "Gallery",
            manifest: SceneManifest(supportsMultipleScenes: multipleScenes, sceneConfigurations: configurations),
            delegate: delegate, routing: RoutingSettings(prefersRequiresCan: strict),
            delivery: DeliverySettings(
                timeoutSeconds: 15, maxInFlightPerSession: inFlight, retrySchedule: schedule, statuses: statuses,
                reroute: reroute, headOfLine: headOfLine, lifeCycleEvents: lifeCycleEvents))
    }
}

extension SceneConfiguration {
    static let standard = SceneConfiguration(
        name: "Default", role: SceneRole.windowApplication,
        endpoint: Endpoint(url: "https://default.example/", secret: "whsec_ZGVmYXVsdA=="))
    static let unreachable = SceneConfiguration(name: "Unreachable", role: SceneRole.windowApplication)
}

extension Tenant {
    /// A tenant whose sessions were created in the order of the list.
    init(_ application: Application = .gallery(), _ scenes: [Scene]) {
        self.init(application: application)
        for (index, scene) in scenes.enumerated() { put(scene.session(of: application.id, created: Int64(index + 1))) }
    }
}

extension NotificationView {
    /// A notification about a content, or without one.
    static func about(
        _ content: ContentID?, device: DeviceID? = nil, priority: Priority = .high
    ) -> NotificationView {
        NotificationView(
            application: .gallery, device: device, contentID: content, priority: priority, payload: Array("{}".utf8))
    }
}
