package import Router
package import RouterPlugin

/// Applications on the wire.
package enum ApplicationBody {
    /// Reads what a client puts.
    package static func read(
        _ body: JSONValue, id: ApplicationID, within scope: EndpointScope
    ) throws(Problem) -> ApplicationDraft {
        var reader = try ObjectReader(body)
        var application = Application(id: id)
        application.displayName = try reader.string("displayName") ?? ""
        guard application.displayName.utf8.count <= 1024 else { throw reader.invalid("displayName", "is too long") }
        var endpoints: [String: EndpointDraft] = [:]
        if let manifest = try reader.object("manifest") {
            (application.manifest, endpoints) = try readManifest(manifest, within: scope)
        }
        if var routing = try reader.object("routing") {
            application.routing.prefersRequiresCan = try routing.bool("prefersRequiresCan") ?? false
            try routing.finish()
        }
        if let delivery = try reader.object("delivery") { application.delivery = try readDelivery(delivery) }
        let delegate = try reader.endpoint("delegate", within: scope)
        try reader.finish()
        return ApplicationDraft(application: application, delegate: delegate, endpoints: endpoints)
    }

    private static func readManifest(
        _ reader: ObjectReader, within scope: EndpointScope
    ) throws(Problem) -> (SceneManifest, [String: EndpointDraft]) {
        var reader = reader
        var manifest = SceneManifest()
        var endpoints: [String: EndpointDraft] = [:]
        manifest.supportsMultipleScenes = try reader.bool("supportsMultipleScenes") ?? false
        manifest.userActivityTypes = try reader.strings("userActivityTypes", atMost: RouterLimits.manifestEntries) ?? []
        let configurations = try reader.array("sceneConfigurations", atMost: RouterLimits.manifestEntries) ?? []
        for (place, value) in configurations.enumerated() {
            var entry = try ObjectReader(value, at: reader.pointer(to: "sceneConfigurations/\(place)"))
            guard let name = try entry.string("name"), !name.isEmpty else { throw entry.missing("name") }
            guard manifest.configuration(named: name) == nil else { throw entry.invalid("name", "is used twice") }
            let role = try entry.string("role") ?? SceneRole.windowApplication
            let types = try entry.strings("activityTypes", atMost: RouterLimits.manifestEntries) ?? []
            endpoints[name] = try entry.endpoint("endpoint", within: scope)
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
        try reader.finish()
        return settings
    }

    /// Writes an application. Secrets are left out but for those that were made for this very answer.
    package static func write(_ application: Application, issued: ApplicationDraft? = nil) -> [UInt8] {
        JSONWriter.object { body in
            body.field("id", application.id)
            body.field("displayName", application.displayName)
            body.object("manifest") { manifest in
                manifest.field("supportsMultipleScenes", application.manifest.supportsMultipleScenes)
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
            body.object("routing") { $0.field("prefersRequiresCan", application.routing.prefersRequiresCan) }
            body.object("delivery") { delivery in
                delivery.field("timeoutSeconds", application.delivery.timeoutSeconds)
                delivery.field("maxInFlightPerSession", application.delivery.maxInFlightPerSession)
                delivery.array("retrySchedule") { steps in
                    for step in application.delivery.retrySchedule { steps.element(step) }
                }
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
