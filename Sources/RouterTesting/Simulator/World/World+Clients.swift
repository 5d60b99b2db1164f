import PredicateEngine
import Router
import RouterPlugin

extension World {
    private static let source = PluginID(unchecked: "simulated.source")

    mutating func ask(_ command: Command, _ action: String) {
        lastTicket += 1
        asked[lastTicket] = command
        stale[lastTicket] = gateThatIsFurther(than: command)
        log.add("\(stamp) \(action)")
        driver.submit(command, ticket: lastTicket)
    }

    // MARK: - Producers

    /// A producer sends a new notification, or repeats an earlier one.
    mutating func produce() {
        if happens(options.repetition), let earlier = pick(sent) { return repeatRequest(earlier) }
        produce(for: drawApplication(), on: drawDevice())
    }

    private mutating func produce(for application: ApplicationID, on device: DeviceID?) {
        let number = lastTicket + 1
        let contents = [nil, "doc/1", "doc/2", "doc/3", "x", "help", "spam"]
        var notification = IncomingNotification(
            contentID: pick(contents).flatMap { $0 }.map { ContentID(unchecked: $0) }, payload: payload(number))
        if happens(200) { makeSceneEvent(&notification, number) }
        notification.priority = pick([.high, .normal, .low]) ?? .high
        notification.expiration = drawExpiration()
        if happens(200) { notification.collapseID = pick(["score", "news"]) }
        if happens(400) { notification.dedupeKeys = ["key-\(number)"] }
        if happens(50) { notification.dedupeKeys.append("other-\(number)") }
        var request = AcceptRequest(
            application: application, source: Self.source, device: device, notification: notification)
        // An earlier notification is over, and its key is free.
        if number.isMultiple(of: 16) { request.release(["key-\(number / 2)", "key-\(number - 1)"]) }
        askRemote(about: &request)
        if options.broadcast > 0, happens(options.broadcast), notification.kind == .notification {
            request.broadcast = .all
            // Some keep it, and are refused.
            if happens(900) { request.notification.collapseID = nil }
        }
        sent.append(request)
        let content = notification.contentID?.text ?? "-"
        ask(request.command, "\(request.verb) #\(number) for \(request.application), about \(content)")
    }

    /// A client recalls a notification that was accepted.
    mutating func callBack() {
        guard let sequence = pick(Array(witness.acknowledged.suffix(5))),
            let id = witness.ledger.entries[sequence]?.accepted.id
        else { return }
        witness.calledBack.insert(id)
        ask(.cancel(id), "cancel \(sequence)")
    }

    /// A client requests a replay of ended notifications, or cancels one.
    mutating func sendOnceMore() {
        if happens(200), let id = pick(witness.replays.keys.sorted()) {
            return ask(.cancelReplay(id), "cancel \(id)")
        }
        var filter = NotificationFilter()
        if happens(500) { filter.application = drawApplication() }
        if happens(700) { filter.state = pick([.deadLettered, .expired, .cancelled, .delivered]) }
        if happens(200) { filter.contentID = ContentID(unchecked: "doc/1") }
        if happens(200) { filter.since = now.advanced(byMilliseconds: -60_000) }
        if happens(200) { filter.until = now.advanced(byMilliseconds: -1000) }
        // Replayed notifications may be replayed again, and would soon be the only ones.
        guard var tally = try? disk.tally(of: filter, settledBy: now), tally.count < 40 else { return }
        if happens(100) { tally = NotificationTally(count: tally.count, range: nil) }
        let draft = ReplayDraft(
            filter: filter, perSecond: pick([3, 50, 1000]) ?? 1, tally: tally, askedAt: now, request: nil)
        ask(.replay(draft), "replay \(tally.count) by \(filter)")
    }

    private func askRemote(about request: inout AcceptRequest) {
        guard options.remote != nil else { return }
        request.answers = SimulatedRemote.answers(to: request.notification.payload)
    }

    private mutating func repeatRequest(_ earlier: AcceptRequest) {
        var request = earlier
        if happens(200) { request.notification.payload = payload(lastTicket + 1) }
        askRemote(about: &request)
        if happens(50) { request.device = drawDevice() }
        // Under another of its keys, or under the key of another notification too.
        if happens(150) { request.notification.dedupeKeys.append("name-\(Int.random(in: 0..<20, using: &generator))") }
        if happens(100), !request.notification.dedupeKeys.isEmpty { request.notification.dedupeKeys.removeFirst() }
        // The same key for a notification with one receiver.
        if options.broadcast > 0, request.broadcast != nil, happens(100) { request.broadcast = nil }
        ask(request.command, "repeat \(request.notification.dedupeKeys) for \(request.application)")
        // Impatient producers do not wait for the answer.
        if happens(200) { ask(request.command, "repeat it at once") }
    }

    /// Odd spacing, so that a re-encoded payload would differ.
    private mutating func payload(_ number: Int) -> [UInt8] {
        let spaces = [UInt8](repeating: 0x20, count: Int.random(in: 0...3, using: &generator))
        return Array("{ \"number\" :\(number)}".utf8) + spaces
    }

    /// The other events that UIKit routes; some activities have a type that no manifest lists.
    private mutating func makeSceneEvent(_ notification: inout IncomingNotification, _ number: Int) {
        notification.kind = pick([.url, .shortcutItem, .userActivity, .userActivity]) ?? .url
        guard notification.kind == .userActivity else { return }
        notification.payload = Array(drawActivity(number).value.serialized())
    }

    private mutating func drawActivity(_ number: Int) -> UserActivity {
        let type = pick(["edit", "kiosk", "unlisted"]) ?? "edit"
        var value: JSONValue = ["activityType": .string(type), "title": .string("\(number)")]
        if happens(500), var object = value.asObject {
            object["targetContentIdentifier"] = "doc/1"
            value = .object(object)
        }
        do { return try UserActivity(value) } catch { preconditionFailure("\(error)") }
    }

    private mutating func drawExpiration() -> Expiration {
        switch Int.random(in: 0..<10, using: &generator) {
        case 0: .immediate
        case 1, 2: .at(now.advanced(byMilliseconds: Int64.random(in: -1000...600_000, using: &generator)))
        default: .never
        }
    }

    private mutating func drawDevice() -> DeviceID? {
        pick([nil, nil, nil, "d1", "d2"]).flatMap { $0 }.map { DeviceID(unchecked: $0) }
    }

    private mutating func drawApplication() -> ApplicationID {
        ApplicationID(unchecked: "app\(Int.random(in: 0..<options.applications, using: &generator))")
    }

    // MARK: - Registration

    /// An application or a session is registered, changes or is deleted.
    mutating func register() {
        let application = drawApplication()
        let number = Int.random(in: 0..<options.sessionsPerApplication, using: &generator)
        var key = SessionKey(application: application, session: SessionID(unchecked: "s\(number)"))
        let known = witness.ledger.registrations.sessions(of: application).map(\.key).sorted()
        if happens(200), let other = pick(known) { key = other }
        switch Int.random(in: 0..<100, using: &generator) {
        case 0..<2: ask(.deleteApplication(application), "delete \(application)")
        case 2..<15: putApplication(application)
        case 15..<46:
            let draft = drawSession(key)
            ask(.putSession(key, draft), "put \(key)")
            // A notification at the same moment may have a session created for it.
            if happens(200) { produce(for: application, on: draft.device) }
        case 46..<50:
            witness.resumed.insert(key)
            ask(.resume(key), "resume \(key)")
        case 50..<85: ask(.patchSession(key, drawPatch(key)), "patch \(key)")
        case 85..<90: ask(.disconnectSession(key), "disconnect \(key)")
        default: ask(.deleteSession(key, dismissal: pick(Dismissal.allCases) ?? .standard), "delete \(key)")
        }
    }

    /// A scene moves to a state that may follow its own, or is closed.
    mutating func move() {
        let known = witness.ledger.registrations.sessions.keys.sorted()
        guard let key = pick(known), let session = witness.ledger.registrations.sessions[key] else { return }
        switch Int.random(in: 0..<10, using: &generator) {
        case 0: ask(.disconnectSession(key), "disconnect \(key)")
        case 2: ask(.refreshSession(key), "refresh \(key)")
        case 3, 4: activate(happens(600) ? key.session : nil, in: key.application)
        case 1: ask(.deleteSession(key, dismissal: pick(Dismissal.allCases) ?? .standard), "discard \(key)")
        default:
            var patch = SessionPatch()
            patch.activationState = pick(session.activationState.successors)
            ask(.patchSession(key, patch), "move \(key) to \(patch.activationState?.name ?? "-")")
        }
    }

    /// A client activates a scene: a given one, or the one that suits best.
    private mutating func activate(_ session: SessionID?, in application: ApplicationID) {
        let known = witness.ledger.registrations.sessions(of: application).map(\.key.session).sorted()
        let activity = happens(600) ? drawActivity(lastTicket + 1) : nil
        let request = ActivationRequest(
            application: application, session: session, device: session == nil ? drawDevice() : nil,
            userActivity: activity,
            options: ActivationOptions(requestingSession: happens(300) ? pick(known) : nil))
        ask(.activate(request), "activate \(session?.text ?? "a scene") for \(activity?.activityType ?? "nothing")")
    }

    mutating func putApplication(_ id: ApplicationID) {
        let names = happens(300) ? ["Default", "Kiosk"] : ["Default"]
        var application = Application(id: id)
        application.manifest.supportsMultipleScenes = happens(500)
        application.manifest.allowsOneSceneOnly = !application.manifest.supportsMultipleScenes && happens(500)
        application.manifest.userActivityTypes = ["edit", "kiosk"]
        application.manifest.sceneConfigurations = names.map {
            SceneConfiguration(
                name: $0, role: SceneRole.windowApplication, activityTypes: $0 == "Kiosk" ? ["kiosk"] : [])
        }
        application.routing.prefersRequiresCan = happens(200)
        application.delivery = DeliverySettings(
            timeoutSeconds: pick([1, 15, 60]) ?? 15, maxInFlightPerSession: options.maxInFlightPerSession,
            retrySchedule: options.retrySchedule)
        if happens(300) { drawStatuses(&application.delivery.statuses) }
        application.delivery.reroute = RerouteSettings(onExhausted: happens(300), onTimeout: happens(500))
        application.delivery.weight = pick([1, 1, 3]) ?? 1
        application.routing.requiresContentID =
            application.routing.prefersRequiresCan && application.delivery.weight == 3
        application.routing.broadcasts = options.broadcast > 0 && application.delivery.weight == 1
        application.delivery.headOfLine = pick([.block, .block, .park, .skip(afterAttempts: 2)]) ?? .block
        application.delivery.lifeCycleEvents = happens(700)
        application.gates = drawGates()
        let delegate = happens(700) ? endpoint("\(id)/delegate") : nil
        var endpoints: [String: EndpointDraft] = [:]
        for name in names where happens(700) { endpoints[name] = perhapsStream(endpoint("\(id)/\(name)")) }
        let draft = ApplicationDraft(application: application, delegate: delegate, endpoints: endpoints)
        ask(.putApplication(draft), "put \(id)")
    }

    /// Some status rules, so that every answer is handled in every way.
    private mutating func drawStatuses(_ statuses: inout StatusTable) {
        for pattern in ["404", "4xx", "429", "410", "503", "5xx", "304"] where happens(250) {
            // The endpoints alone decide in the simulation whether a message was accepted.
            guard let action = pick(StatusAction.allCases), action != .deliver else { continue }
            try? statuses.add(pattern, action.rawValue)
        }
    }

    mutating func drawSession(_ key: SessionKey) -> SessionDraft {
        var draft = SessionDraft(device: drawDevice(), activationState: pick(ActivationState.allCases) ?? .background)
        draft.configuration = happens(200) ? "Kiosk" : nil
        draft.conditions = ActivationConditions(
            canActivate: drawPredicate(), prefersToActivate: drawPredicate(),
            preferenceLevel: Int.random(in: 0...1, using: &generator))
        draft.endpoint = happens(800) ? drawEndpoint(key) : nil
        draft.leaseSeconds = happens(300) ? pick([1, 60, 3600]) : nil
        draft.whileAway = drawPlace()
        return draft
    }

    private mutating func drawPatch(_ key: SessionKey) -> SessionPatch {
        var patch = SessionPatch()
        if happens(600) { patch.activationState = pick(ActivationState.allCases) }
        if happens(200) { patch.canActivate = happens(300) ? .remove : .set(drawPredicate()) }
        if happens(200) { patch.prefersToActivate = happens(300) ? .remove : .set(drawPredicate()) }
        if happens(150) { patch.endpoint = happens(300) ? .remove : .set(drawEndpointPatch(key)) }
        if happens(100) { patch.device = drawDevice().map { .set($0) } ?? .remove }
        if happens(100) { patch.leaseSeconds = happens(500) ? .remove : .set(30) }
        if happens(100) { patch.whileAway = drawPlace().map { .set($0) } ?? .remove }
        if happens(100) { patch.configuration = pick(["Default", "Kiosk", "Unknown"]) }
        return patch
    }

    /// Some receivers answer with a body, and some of these are invalid.
    mutating func drawAnswer(to event: SceneEventKind?) -> ReceiverAnswer? {
        if event == .configurationForConnecting, happens(800) {
            return .configuration(pick(["Default", "Kiosk", "Unknown"]) ?? "")
        }
        guard happens(200) else { return nil }
        if happens(200) { return .unreadable(code: "unknown-field") }
        var patch = SessionPatch()
        if happens(700) { patch.activationState = pick(ActivationState.allCases) }
        if happens(300) { patch.stateRestorationActivity = ["activityType": "simulated"] }
        if happens(200) { patch.canActivate = .set(drawPredicate()) }
        return .change(patch)
    }

    private mutating func drawPredicate() -> Predicate {
        let formats = [
            "TRUEPREDICATE", "TRUEPREDICATE", "FALSEPREDICATE", "SELF == 'x'", "SELF BEGINSWITH 'doc/'",
            "SELF == 'doc/1' OR SELF == 'doc/2'", "NOT SELF CONTAINS '3'",
        ]
        return pick(formats).flatMap { try? Predicate(format: $0) } ?? .alwaysTrue
    }

    private mutating func drawEndpointPatch(_ key: SessionKey) -> EndpointPatch {
        let draft = drawEndpoint(key)
        if draft.url == Endpoint.streamURL {
            return EndpointPatch(url: draft.url, keys: .remove, freshSecret: draft.freshSecret, format: .remove)
        }
        let keys: SessionPatch.Change<SigningKeys>? = happens(300) ? .remove : nil
        return EndpointPatch(
            url: happens(800) ? draft.url : nil, keys: keys, freshSecret: draft.freshSecret, format: .set(draft.format))
    }

    private mutating func drawEndpoint(_ key: SessionKey) -> EndpointDraft {
        perhapsStream(endpoint("\(key)/\(Int.random(in: 0...1, using: &generator))"))
    }

    private mutating func endpoint(_ name: String) -> EndpointDraft {
        let host = name.utf8.reduce(0) { $0 + Int($1) } % 3
        let url = "https://host\(host).simulated.example/\(name)"
        if endpoints[url] == nil { endpoints[url] = SimulatedEndpoint(behaviour: drawBehaviour()) }
        let isStandard = !url.utf8.count.isMultiple(of: 3)
        let format = isStandard ? .standard : DeliveryFormatChoice(PluginID(unchecked: "simulated.format"))
        return EndpointDraft(url: url, keys: nil, freshSecret: "whsec_\(generator.next())", format: format)
    }

    mutating func drawBehaviour() -> EndpointBehaviour {
        guard happens(options.trouble) else { return happens(800) ? .ok : .slow }
        return pick(EndpointBehaviour.allCases) ?? .ok
    }
}

extension AcceptRequest {
    fileprivate var command: Command { broadcast == nil ? .accept(self) : .acceptAll([self]) }

    fileprivate var verb: String { broadcast == nil ? "accept" : "broadcast" }
}
