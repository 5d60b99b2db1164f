import HTTPTypes
package import Router
package import RouterPlugin

/// The scenes that represent an application.
package struct ApplicationScenes: Sendable {
    /// The activation state of its most active session.
    package var state: ActivationState
    /// The connected session closest to the person, and the session that onboards or is asked for the passcode; the
    /// outer nil in lists, which do not look them up.
    package var current: SessionID??
    package var onboarding: SessionID??

    package init(state: ActivationState, current: SessionID?? = nil, onboarding: SessionID?? = nil) {
        (self.state, self.current, self.onboarding) = (state, current, onboarding)
    }

    /// The scenes of the application that are closest to the person at a device, and at its gate.
    package init(of tenant: Tenant, at gate: OnboardingGate?, on device: DeviceID?) {
        state = tenant.activationState
        current = .some(tenant.currentSession(on: device)?.key.session)
        onboarding = .some(gate.flatMap { $0.state.needsSomebody ? $0.responsible : nil })
    }

    func write(to body: inout JSONObjectWriter) {
        body.field("activationState", state.name)
        if let current { body.field("currentSession", current) }
        if let onboarding { body.field("onboardingSession", onboarding) }
    }
}

/// An application as reads show it.
struct ShownApplication: Sendable {
    let application: Application
    /// Nil if it is being deleted.
    let scenes: ApplicationScenes?

    init(application: Application, scenes: ApplicationScenes) {
        (self.application, self.scenes) = (application, scenes)
    }

    init(_ deletion: ApplicationDeletion) { (application, scenes) = (deletion.application, nil) }

    var body: [UInt8] { ApplicationBody.write(application, scenes, isDeleting: scenes == nil) }
}

/// Applications on the wire.
package enum ApplicationBody {
    /// Reads an application that a client puts.
    package static func read(
        _ body: JSONValue, id: ApplicationID, within scope: EndpointScope
    ) throws(Problem) -> ApplicationDraft {
        var reader = try ObjectReader(body)
        var application = Application(id: id)
        try passOverState(&reader, of: id)
        application.displayName = try reader.string("displayName") ?? ""
        guard application.displayName.utf8.count <= 1024 else { throw reader.invalid("displayName", "is too long") }
        var endpoints: [String: EndpointDraft] = [:]
        if let manifest = try reader.object("manifest") {
            (application.manifest, endpoints) = try readManifest(manifest, within: scope)
        }
        if var routing = try reader.object("routing") {
            application.routing.prefersRequiresCan = try routing.bool("prefersRequiresCan") ?? false
            application.routing.requiresContentID = try routing.bool("requireContentId") ?? false
            application.routing.broadcasts = try routing.bool("broadcasts") ?? false
            try routing.finish()
        }
        if let delivery = try reader.object("delivery") { application.delivery = try readDelivery(delivery) }
        if let gates = try reader.object("gates") {
            application.gates = try GateSettingsBody.read(gates, application.manifest)
        }
        application.observers = try scope.observers(&reader) ?? []
        let delegate = try reader.delegate("delegate", within: scope)
        guard delegate?.url.isSame(as: Endpoint.streamURL) != true else {
            throw Problem(
                .unprocessableContent, "invalid-field", "A delegate has a URL: only sessions are reached by a stream.",
                pointer: reader.pointer(to: "delegate") + "/stream")
        }
        try reader.finish()
        return ApplicationDraft(application: application, delegate: delegate, endpoints: endpoints)
    }

    /// Passes over the members by which reads show the present state, so that the answer to a read can be put back whole.
    private static func passOverState(_ reader: inout ObjectReader, of id: ApplicationID) throws(Problem) {
        if let named = try reader.identifier("id", of: IdentifierKinds.Application.self), named != id {
            throw reader.invalid("id", "must be that of the path, \(id)")
        }
        for name in ["activationState", "currentSession", "onboardingSession"] { _ = reader.presence(name) }
    }

    private static func readManifest(
        _ reader: ObjectReader, within scope: EndpointScope
    ) throws(Problem) -> (SceneManifest, [String: EndpointDraft]) {
        var reader = reader
        var manifest = SceneManifest()
        var endpoints: [String: EndpointDraft] = [:]
        let supportsMultipleScenes = try reader.bool("supportsMultipleScenes")
        manifest.supportsMultipleScenes = supportsMultipleScenes ?? false
        manifest.allowsOneSceneOnly = supportsMultipleScenes == false
        manifest.userActivityTypes = try reader.strings("userActivityTypes", atMost: RouterLimits.manifestEntries) ?? []
        let configurations = try reader.array("sceneConfigurations", atMost: RouterLimits.manifestEntries) ?? []
        for (place, value) in configurations.enumerated() {
            var entry = try ObjectReader(value, at: reader.pointer(to: "sceneConfigurations/\(place)"))
            guard let name = try entry.string("name"), !name.isEmpty else { throw entry.missing("name") }
            guard manifest.configuration(named: name) == nil else { throw entry.invalid("name", "is used twice") }
            let role = try entry.string("role") ?? SceneRole.windowApplication
            let types = try entry.strings("activityTypes", atMost: RouterLimits.manifestEntries) ?? []
            endpoints[name] = try entry.configurationEndpoint("endpoint", within: scope)
            try entry.finish()
            manifest.sceneConfigurations.append(SceneConfiguration(name: name, role: role, activityTypes: types))
        }
        try reader.finish()
        return (manifest, endpoints)
    }

    private static func readDelivery(_ reader: ObjectReader) throws(Problem) -> DeliverySettings {
        var reader = reader
        var settings = DeliverySettings()
        settings.timeoutSeconds = try reader.integer("timeoutSeconds", in: 1...300) ?? settings.timeoutSeconds
        settings.maxInFlightPerSession =
            try reader.integer("maxInFlightPerSession", in: 1...64) ?? settings.maxInFlightPerSession
        if let steps = try reader.array("retrySchedule", atMost: RouterLimits.retrySteps) {
            var schedule: [Int] = []
            for step in steps {
                guard let seconds = step.asInt64, (0...604_800).contains(seconds) else {
                    throw reader.invalid("retrySchedule", "must hold whole seconds from 0 to 604800")
                }
                schedule.append(Int(seconds))
            }
            settings.retrySchedule = schedule
        }
        if let statuses = reader.value("statuses") {
            settings.statuses = try readStatuses(statuses, at: reader.pointer(to: "statuses"))
        }
        if var reroute = try reader.object("reroute") {
            settings.reroute.onExhausted = try reroute.bool("onExhausted") ?? false
            settings.reroute.onTimeout = try reroute.bool("onTimeout") ?? false
            try reroute.finish()
        }
        settings.weight = try reader.integer("weight", in: 1...Int64(RouterLimits.weight)) ?? settings.weight
        if let order = try reader.object("headOfLine") { settings.headOfLine = try readOrder(order) }
        settings.lifeCycleEvents = try reader.bool("lifeCycleEvents") ?? settings.lifeCycleEvents
        try reader.finish()
        return settings
    }

    private static func readOrder(_ reader: ObjectReader) throws(Problem) -> HeadOfLine {
        var reader = reader
        let policy = try reader.string("policy")
        var order = HeadOfLine.block
        switch policy {
        case nil: throw reader.missing("policy")
        case "block": break
        case "park": order = .park
        case "skip":
            let attempts = try reader.integer("afterAttempts", in: 2...Int64(RouterLimits.retrySteps))
            guard let attempts else { throw reader.missing("afterAttempts") }
            order = .skip(afterAttempts: attempts)
        default: throw reader.invalid("policy", "must be block, skip or park")
        }
        try reader.finish()
        return order
    }

    /// An object from statuses to actions, such as `{"404": "retry", "5xx": "wait"}`.
    private static func readStatuses(_ value: JSONValue, at pointer: String) throws(Problem) -> StatusTable {
        guard case .object(let object) = value else {
            throw Problem(.badRequest, "not-an-object", "This must be a JSON object.", pointer: pointer)
        }
        guard object.members.count <= RouterLimits.statusRules else {
            throw invalidStatus("has more than \(RouterLimits.statusRules) rules", at: pointer)
        }
        var statuses = StatusTable()
        for member in object.members {
            do throws(StatusTable.InvalidRule) {
                try statuses.add(member.key, member.value.asString ?? "")
            } catch {
                switch error {
                case .unknownStatus:
                    throw invalidStatus("has statuses from 300 to 599, and 3xx, 4xx and 5xx", at: pointer)
                case .unknownAction:
                    let actions = StatusAction.allCases.map(\.rawValue).joined(separator: ", ")
                    throw invalidStatus("has the actions \(actions)", at: "\(pointer)/\(member.key)")
                case .redirectAsSuccess:
                    throw invalidStatus("takes no redirect for a delivery", at: "\(pointer)/\(member.key)")
                }
            }
        }
        return statuses
    }

    private static func invalidStatus(_ reason: String, at pointer: String) -> Problem {
        Problem(.unprocessableContent, "invalid-field", "The field statuses \(reason).", pointer: pointer)
    }

    /// Writes an application. Secrets are left out, except those generated for this very answer.
    ///
    /// - Parameter scenes: Left out if they were not asked for.
    package static func write(
        _ application: Application, _ scenes: ApplicationScenes? = nil, isDeleting: Bool = false,
        issued: ApplicationDraft? = nil
    ) -> [UInt8] {
        JSONWriter.object { body in
            body.field("id", application.id)
            body.field("displayName", application.displayName)
            if isDeleting { body.field("deleting", true) }
            if let scenes { scenes.write(to: &body) }
            body.object("manifest") { manifest in
                manifest.field("supportsMultipleScenes", application.manifest.multipleScenesSetting)
                manifest.array("userActivityTypes") { types in
                    for type in application.manifest.userActivityTypes { types.element(type) }
                }
                manifest.array("sceneConfigurations") { list in
                    for configuration in application.manifest.sceneConfigurations {
                        list.object { write(configuration, issued: issued?.endpoints[configuration.name], to: &$0) }
                    }
                }
            }
            if let delegate = application.delegate {
                body.object("delegate") {
                    EndpointBody.write(delegate, issuing: issued?.delegate?.freshSecret, to: &$0)
                }
            }
            body.object("routing") { routing in
                routing.field("prefersRequiresCan", application.routing.prefersRequiresCan)
                routing.field("requireContentId", application.routing.requiresContentID)
                routing.field("broadcasts", application.routing.broadcasts)
            }
            body.object("delivery") { delivery in
                delivery.field("timeoutSeconds", application.delivery.timeoutSeconds)
                delivery.field("maxInFlightPerSession", application.delivery.maxInFlightPerSession)
                delivery.array("retrySchedule") { steps in
                    for step in application.delivery.retrySchedule { steps.element(step) }
                }
                delivery.object("statuses") { statuses in
                    for rule in application.delivery.statuses.words { statuses.field(rule.pattern, rule.action) }
                }
                delivery.object("reroute") { reroute in
                    reroute.field("onExhausted", application.delivery.reroute.onExhausted)
                    reroute.field("onTimeout", application.delivery.reroute.onTimeout)
                }
                delivery.field("weight", application.delivery.weight)
                delivery.object("headOfLine") { order in
                    switch application.delivery.headOfLine {
                    case .block: order.field("policy", "block")
                    case .park: order.field("policy", "park")
                    case .skip(let attempts):
                        order.field("policy", "skip")
                        order.field("afterAttempts", attempts)
                    }
                }
                delivery.field("lifeCycleEvents", application.delivery.lifeCycleEvents)
            }
            if !application.observers.isEmpty {
                body.array("observers") { list in for observer in application.observers { list.element(observer) } }
            }
            if application.gates != GateSettings() {
                body.object("gates") { GateSettingsBody.write(application.gates, to: &$0) }
            }
        }
    }

    private static func write(
        _ configuration: SceneConfiguration, issued: EndpointDraft?, to object: inout JSONObjectWriter
    ) {
        object.field("name", configuration.name)
        object.field("role", configuration.role)
        if let endpoint = configuration.endpoint {
            object.object("endpoint") { EndpointBody.write(endpoint, issuing: issued?.freshSecret, to: &$0) }
        }
        object.array("activityTypes") { types in for type in configuration.activityTypes { types.element(type) } }
    }
}

extension SceneManifest {
    /// The setting as the client put it; nil if the client put none.
    fileprivate var multipleScenesSetting: Bool? { supportsMultipleScenes ? true : allowsOneSceneOnly ? false : nil }
}
