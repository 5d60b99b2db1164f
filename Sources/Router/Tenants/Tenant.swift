package import RouterPlugin

/// An application with all its state but lanes: sessions, gates, held notifications. Tenants share nothing.
package struct Tenant: Sendable {
    package var application: Application
    package private(set) var registry = IndexedRegistry()
    package private(set) var sessions = SessionTable()
    private var records = Indirect(TenantRecords())
    /// The bytes of all sessions, discarded ones included.
    private var sessionBytes = 0
    /// The bytes of all registrations of the application: sessions, gates with their passcodes, and sources.
    package var registeredBytes: Int {
        sessionBytes + records.value.sourceBytes + records.value.gates.registeredBytes
    }
    /// The most steps that decisions may take for the predicates of all sessions; discarded ones do not count.
    package var registeredSteps: Int { records.value.registeredSteps }
    /// Sessions by activation state. No vector of more than 16 bytes: swiftlang/swift#91639 makes the frame of an async
    /// function that keeps one too small, until toolchain 6.4.
    private var states = InlineArray<4, Int>(repeating: 0)

    /// - Parameter sessions: How many are about to be put.
    package init(application: Application, expecting sessions: Int = 0) {
        self.application = application
        registry.reserve(sessions)
    }

    /// Discarded sessions whose scenes have events to take yet.
    package var discarded: [SessionID: SceneSession] { records.value.discarded }
    /// The ids of the sessions in the order of their bytes.
    var order: OrderedIDs<SessionID> { records.value.order }
    /// Sessions whose endpoints are gone, by device; there are few.
    package var gone: [DeviceID?: Set<SessionID>] { records.value.gone }

    package internal(set) var gates: GateTable {
        _read { yield records.value.gates }
        _modify { yield &records.value.gates }
    }

    package internal(set) var deliveries: TenantDeliveries {
        _read { yield records.value.deliveries }
        _modify { yield &records.value.deliveries }
    }

    package mutating func put(_ session: SceneSession) {
        guard session.discardedAt == nil else {
            remove(session.key.session)
            records.value.discarded[session.key.session] = session
            sessionBytes += session.registeredBytes
            return
        }
        forgetDiscarded(session.key.session)
        let previous = sessions.put(session)
        if previous == nil { records.value.order.insert(session.key.session) }
        sessionBytes += session.registeredBytes - (previous?.registeredBytes ?? 0)
        count(session.endpoint, insteadOf: previous?.endpoint)
        if previous?.conditions != session.conditions {
            records.value.registeredSteps += session.registeredSteps - (previous?.registeredSteps ?? 0)
        }
        if let previous { states[Int(previous.activationState.rawValue)] -= 1 }
        states[Int(session.activationState.rawValue)] += 1
        if let previous, previous.disabled != nil { forgetAbsence(of: previous) }
        if session.disabled != nil {
            noteAbsence(of: session)
            registry.remove(session.key.session)
        } else if let previous, previous.disabled == nil, previous.differsInStateOnly(from: session) {
            registry.setState(
                session.key.session, rankedState(of: session), lastActivatedAt: session.lastActivatedAt)
        } else {
            var entry = RegistryEntry(session)
            entry.state = rankedState(of: session)
            registry.insert(entry)
        }
    }

    // MARK: Lost connections

    /// The state used for ranking: `unattached` after the end of a connection.
    package func rankedState(of session: SceneSession) -> ActivationState {
        isLost(session.key.session) ? .unattached : session.activationState
    }

    /// Sessions in the grace period after a connection.
    var lost: Set<SessionID> { records.value.lost }

    /// Whether the session is in the grace period after a connection.
    func isLost(_ session: SessionID) -> Bool {
        !records.value.lost.isEmpty && records.value.lost.contains(session)
    }

    /// Ranks a session by its connection.
    package mutating func rank(_ id: SessionID, asLost isLost: Bool) {
        guard self.isLost(id) != isLost, let session = sessions[id] else { return }
        if isLost { records.value.lost.insert(id) } else { records.value.lost.remove(id) }
        registry.setState(id, rankedState(of: session), lastActivatedAt: session.lastActivatedAt)
    }

    /// Ranks all sessions by the states of their scenes: connections belong to a node.
    mutating func forgetLostConnections() {
        for id in records.value.lost { rank(id, asLost: false) }
    }

    /// The session in the form that rules receive.
    package func candidate(_ session: SceneSession, in tier: Tier) -> Candidate {
        guard isLost(session.key.session) else { return session.candidate(in: tier) }
        var ranked = session
        ranked.activationState = .unattached
        return ranked.candidate(in: tier)
    }

    package mutating func remove(_ session: SessionID) {
        forgetDiscarded(session)
        if isLost(session) { records.value.lost.remove(session) }
        guard let previous = sessions.remove(session) else { return }
        records.value.order.remove(session)
        sessionBytes -= previous.registeredBytes
        count(nil, insteadOf: previous.endpoint)
        records.value.registeredSteps -= previous.registeredSteps
        states[Int(previous.activationState.rawValue)] -= 1
        if previous.disabled != nil { forgetAbsence(of: previous) }
        registry.remove(session)
    }

    /// Counts the URL of a session's own endpoint.
    private mutating func count(_ endpoint: Endpoint?, insteadOf known: Endpoint?) {
        if endpoint?.url == known?.url { return }
        if let known, !known.isStream {
            let left = records.value.ownURLs[known.url.hashValue, default: 1] - 1
            records.value.ownURLs[known.url.hashValue] = left > 0 ? left : nil
        }
        if let endpoint, !endpoint.isStream { records.value.ownURLs[endpoint.url.hashValue, default: 0] += 1 }
    }

    /// Notes a session that takes no part in routing.
    private mutating func noteAbsence(of session: SceneSession) {
        let id = session.key.session
        // An observer is none of the sessions of its device, even if its endpoint is gone.
        if session.role.isSame(as: SceneRole.observer) {
            records.value.observers.insert(id)
        } else if session.isInDemo {
            records.value.demos[session.device, default: []].insert(id)
            records.value.gates.note(demos: true, at: session.device)
        } else {
            records.value.gone[session.device, default: []].insert(id)
        }
    }

    private mutating func forgetAbsence(of session: SceneSession) {
        let id = session.key.session
        records.value.observers.remove(id)
        records.value.demos[session.device]?.remove(id)
        if records.value.demos[session.device]?.isEmpty == true {
            records.value.demos[session.device] = nil
            records.value.gates.note(demos: false, at: session.device)
        }
        records.value.gone[session.device]?.remove(id)
        if records.value.gone[session.device]?.isEmpty == true { records.value.gone[session.device] = nil }
    }

    /// The sessions in demo mode; on a device, or on any.
    func demos(on device: DeviceID?) -> [SceneSession] {
        let demos = records.value.demos
        if demos.isEmpty { return [] }
        let ids = if let device { Array(demos[device] ?? []) } else { demos.values.flatMap(\.self) }
        return ids.compactMap { sessions[$0] }
    }

    /// The sessions in demo mode by device; those of no device under nil.
    package var demosByDevice: [DeviceID?: Set<SessionID>] { records.value.demos }

    /// All sessions of a device but discarded ones, in no order; those of no device for nil.
    func sessions(of device: DeviceID?) -> [SceneSession] {
        guard let device else { return sessions.values.filter { $0.device == nil } }
        var ids = records.value.observers.union(gone[device] ?? []).union(demosByDevice[device] ?? [])
        registry.visitAll(device: device) {
            ids.insert($0)
            return true
        }
        return ids.compactMap { sessions[$0] }.filter { $0.device == device }
    }

    var hasObservers: Bool { !records.value.observers.isEmpty }

    /// The sessions that are told the events of others, in the order of their creation.
    var observers: [SceneSession] {
        records.value.observers.compactMap { sessions[$0] }.filter(\.isObserver).sorted {
            $0.creationSequence < $1.creationSequence
        }
    }

    private mutating func forgetDiscarded(_ session: SessionID) {
        if records.value.discarded.isEmpty { return }
        sessionBytes -= records.value.discarded.removeValue(forKey: session)?.registeredBytes ?? 0
    }

    /// Counts the bytes of a source that was put or deleted.
    mutating func grow(bySourceBytes growth: Int) { records.value.sourceBytes += growth }

    /// The session, even if it was discarded and is still told of it.
    package func scene(_ session: SessionID) -> SceneSession? { sessions[session] ?? discarded[session] }

    /// That of the session that is closest to the person, as UIKit derives an application's state from its scenes.
    package var activationState: ActivationState {
        ActivationState.allCases.last { states[Int($0.rawValue)] > 0 } ?? .unattached
    }

    /// The connected session that is closest to the person, which would have a notification without a content id; nil if
    /// none is connected. Without a device, on any.
    package func currentSession(on device: DeviceID?) -> SceneSession? {
        let query = RegistryQuery(device: device, contentID: nil, prefersRequiresCan: false)
        guard let best = registry.best(for: query), let session = sessions[best.session] else { return nil }
        return rankedState(of: session) > .unattached ? session : nil
    }

    /// The session, if it takes part in routing.
    package func participant(_ session: SessionID) -> SceneSession? {
        registry.contains(session) ? sessions[session] : nil
    }

    /// The reason why a rule cannot redirect a notification to a session; nil if it can.
    func obstacle(to session: SessionID, for notification: NotificationView) -> String? {
        guard sessions[session] != nil else { return "there is no such session" }
        guard let target = participant(session) else { return "it is disabled, or an observer" }
        guard notification.device == nil || target.device == notification.device else {
            return "it is for another device than the notification"
        }
        return nil
    }

    /// The names that no session has.
    package func strangers(among names: Set<SessionID>) -> Set<SessionID> { names.filter { sessions[$0] == nil } }

    /// Whether there is any session in scope, disabled ones included, but no observer.
    package func hasSessions(for device: DeviceID?) -> Bool {
        guard let device else { return sessions.count > records.value.observers.count }
        return registry.count(of: device) > 0 || gone[device] != nil || !demos(on: device).isEmpty
    }

    /// Whether the device has sessions, and all of them are disabled because their endpoints are gone.
    package func isRetired(_ device: DeviceID) -> Bool {
        gone[device] != nil && registry.count(of: device) == 0 && demos(on: device).isEmpty
    }

    /// The time at which the last session of a retired device was disabled; nil if it was not kept.
    package func retirement(of device: DeviceID) -> Timestamp? {
        gone[device]?.compactMap { sessions[$0]?.disabled?.since }.max()
    }

    /// Whether a session that is still registered was reached there, and answered 410.
    package func isGone(_ place: Endpoint) -> Bool {
        gone.values.joined().contains { id in
            sessions[id].flatMap { endpoint(of: $0) }?.url.isSame(as: place.url) ?? false
        }
    }

    /// Where a session is reached: at its own endpoint, or at that of its configuration.
    package func endpoint(of session: SceneSession) -> Endpoint? {
        if let own = session.endpoint { return own }
        guard let endpoint = application.manifest.configuration(named: session.configuration)?.endpoint else {
            return nil
        }
        return endpoint.placeholders.isEmpty ? endpoint : endpoint.filled(for: session)
    }

    /// Whether other sessions are reached at the URL of a session: that of its configuration, or one that they name too.
    func sharesEndpoint(_ session: SceneSession) -> Bool {
        if let own = session.endpoint {
            let isOfConfiguration = application.manifest.sceneConfigurations.contains {
                $0.endpoint?.url.isSame(as: own.url) == true
            }
            return !own.isStream && (isOfConfiguration || records.value.ownURLs[own.url.hashValue, default: 0] > 1)
        }
        guard let endpoint = application.manifest.configuration(named: session.configuration)?.endpoint else {
            return false
        }
        return !endpoint.isStream && !endpoint.placeholders.contains(.session)
    }

    /// Where the receiver of a lane is reached: a session, or the delegate.
    package func endpoint(ofReceiver id: SessionID) -> Endpoint? {
        id.isDelegate ? application.delegate : scene(id).flatMap { endpoint(of: $0) }
    }
}

/// The state of a tenant that few decisions look at. It lies behind one reference: a tenant is copied for every plan.
private struct TenantRecords: Sendable {
    var discarded: [SessionID: SceneSession] = [:]
    var gone: [DeviceID?: Set<SessionID>] = [:]
    var demos: [DeviceID?: Set<SessionID>] = [:]
    var observers: Set<SessionID> = []
    /// Sessions in the grace period after the end of their connection.
    var lost: Set<SessionID> = []
    /// The ids of all sessions but discarded ones.
    var order = OrderedIDs<SessionID>()
    var gates = GateTable()
    var deliveries = TenantDeliveries()
    var registeredSteps = 0
    var sourceBytes = 0
    /// The number of sessions with an endpoint of their own, by the hash of its URL. Two URLs of one hash count as one that
    /// sessions share.
    var ownURLs: [Int: Int32] = [:]
}

extension SceneSession {
    /// Whether the registry needs to be told of nothing but a new rank.
    fileprivate func differsInStateOnly(from other: SceneSession) -> Bool {
        conditions == other.conditions && device == other.device && role == other.role
            && configuration == other.configuration
            && creationSequence == other.creationSequence
    }
}
