import HTTPTypes
import Hummingbird
import Router
import RouterPlugin

/// Onboarding gates: their states, and the reports of sessions to them.
extension API {
    @Sendable func listGates(_ request: Request, _ context: RouterdContext, _: Caller) async throws -> Response {
        let id = try context.application()
        let query = try request.query("cursor", "limit")
        let limit = try query.limit(default: DaemonLimits.pageSize, maximum: DaemonLimits.pageMaximum)
        let after = try Cursor.read(query["cursor"])
        let found = await host.read { engine in
            engine.tenants[id].map { tenant in
                (tenant.gatesInUse.map { (gate: $0, held: engine.heldCount(behind: $0.key)) }, tenant.demosByDevice)
            }
        }
        guard let (gates, demos) = found else { throw Problem(.unknownApplication(id)) }
        // The gate without a device sorts first, and no device has its key.
        let page = Page(of: gates, after: after, limit: limit) { $0.gate.key.device.map { "/\($0)" } ?? "-" }
        return .json(
            .ok,
            page.body("gates") { list, entry in
                list.object { gate in
                    GateBody.write(entry.gate, held: entry.held, to: &gate)
                    GateBody.write(demos[entry.gate.key.device] ?? [], to: &gate)
                }
            })
    }

    @Sendable func getGate(_ request: Request, _ context: RouterdContext, _ caller: Caller) async throws -> Response {
        let id = try context.application()
        let query = try request.query("device", "language")
        let key = GateKey(
            application: id, device: try query.identifier("device", of: IdentifierKinds.Device.self))
        try caller.expect(key.device)
        let (application, gate, counts, demos) = await host.read { engine in
            let tenant = engine.tenants[id]
            let counts = (held: engine.heldCount(behind: key), paused: engine.pausedCount(behind: key))
            return (tenant?.application, engine.gate(key), counts, tenant?.demosByDevice[key.device] ?? [])
        }
        guard let application else { throw Problem(.unknownApplication(id)) }
        guard let gate, let settings = application.gates.onboarding else { throw Problem(.gateOff(id)) }
        let languages = request.languages(query["language"])
        return .json(
            .ok,
            JSONWriter.object { body in
                GateBody.write(gate, held: counts.held, paused: counts.paused, to: &body)
                GateBody.write(demos, to: &body)
                body.field("configuration", gate.configuration?.value)
                body.object("welcome") { welcome in
                    welcome.field("displayName", application.displayName)
                    GateBody.write(settings, at: gate, in: languages, to: &welcome)
                }
            })
    }

    @Sendable func openGate(_ request: Request, _ context: RouterdContext, _ caller: Caller) async throws -> Response {
        var (reader, application) = try await reader(of: request, context)
        let session = try GateBody.session(&reader, of: application, for: caller)
        let isDemo = try reader.bool("demo") ?? false
        try reader.finish()
        return try await submit(isDemo ? .showDemo(session) : .open(session))
    }

    @Sendable func reportProgress(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        try await report(request, context, caller) { reader throws(Problem) in
            .progress(try GateBody.progress(&reader))
        }
    }

    @Sendable func succeedAtGate(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        try await report(request, context, caller) { reader throws(Problem) in
            .succeed(storing: try GateBody.onboardingID(&reader))
        }
    }

    @Sendable func failAtGate(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        try await report(request, context, caller) { reader throws(Problem) in try GateBody.gateFailure(&reader) }
    }

    /// A session requests the reset, or an operator requests it for a device.
    @Sendable func resetGate(_ request: Request, _ context: RouterdContext, _ caller: Caller) async throws -> Response {
        var (reader, application) = try await reader(of: request, context)
        let isOperator = caller.allows(.admin)
        if reader.value("session") != nil {
            let session = try GateBody.session(&reader, of: application, for: caller)
            let term = try GateBody.term(&reader)
            try reader.finish()
            return try await submit(.report(.reset(asOperator: isOperator), by: session, term: term))
        }
        let device = try operatedDevice(&reader, caller, "reset")
        return try await submit(.reset(GateKey(application: application, device: device)))
    }

    /// A session locks the application, or an operator locks it on a device.
    @Sendable func lockGate(_ request: Request, _ context: RouterdContext, _ caller: Caller) async throws -> Response {
        var (reader, application) = try await reader(of: request, context)
        if reader.value("session") != nil {
            let session = try GateBody.session(&reader, of: application, for: caller)
            try reader.finish()
            return try await submit(.lock(by: session))
        }
        let device = try operatedDevice(&reader, caller, "lock")
        return try await submit(.lockDevice(GateKey(application: application, device: device)))
    }

    /// An operator locks the application on all devices where it is open; one after the other, each in its own transaction.
    @Sendable func lockGates(_ request: Request, _ context: RouterdContext, _: Caller) async throws -> Response {
        let application = try context.application()
        _ = try request.query()
        let found = await host.read { engine in
            engine.tenants[application].map { tenant in
                tenant.gates.all.filter { $0.isOpen && tenant.lock(of: $0.key.device).hash != nil }.map(\.key).sorted()
            }
        }
        guard let open = found else { throw Problem(.unknownApplication(application)) }
        var locked = 0
        for key in open {
            // A gate that was left, reset or closed meanwhile is not open any more.
            guard case .gate = try? await submit(.gate(.lockDevice(key))) else { continue }
            locked += 1
        }
        return .json(.ok, JSONWriter.object { $0.field("locked", locked) })
    }

    /// Configures a device, as a discovery service, a QR code or a management of devices says.
    @Sendable func configureGate(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        var (reader, application) = try await reader(of: request, context)
        if case .absent = reader.presence("device") { throw reader.missing("device") }
        let device = try reader.identifier("device", of: IdentifierKinds.Device.self)
        if caller.token != nil, try caller.ownDevice(insteadOf: device) != device { throw reader.missing("device") }
        var document: JSONDocument?
        switch reader.presence("configuration") {
        case .absent: throw reader.missing("configuration")
        case .null: break
        case .value(let value):
            document = JSONDocument(value)
            let limit = RouterLimits.userInfoBytes
            guard value.asObject != nil else { throw reader.invalid("configuration", "must be an object") }
            guard document?.bytes.count ?? 0 <= limit else {
                throw reader.invalid("configuration", "may have \(limit) bytes")
            }
        }
        try reader.finish()
        return try await submit(.configure(GateKey(application: application, device: device), document))
    }

    // MARK: Parts

    /// The device that an operator names. A request of this kind needs an explicit member: an empty body must not delete
    /// or lock anything.
    private func operatedDevice(
        _ reader: inout ObjectReader, _ caller: Caller, _ verb: String
    ) throws(Problem) -> DeviceID? {
        guard caller.allows(.admin) else {
            throw Problem(
                .forbidden, "scope-missing", "Without a session that asks for it, a \(verb) needs the scope 'admin'.")
        }
        if case .absent = reader.presence("device") { throw reader.missing("device") }
        let device = try reader.identifier("device", of: IdentifierKinds.Device.self)
        try reader.finish()
        return device
    }

    /// The report of the responsible session.
    private func report(
        _ request: Request, _ context: RouterdContext, _ caller: Caller,
        _ read: (inout ObjectReader) throws(Problem) -> GateRequest.Report
    ) async throws -> Response {
        var (reader, application) = try await reader(of: request, context)
        let session = try GateBody.session(&reader, of: application, for: caller)
        let term = try GateBody.term(&reader)
        let report = try read(&reader)
        try reader.finish()
        return try await submit(.report(report, by: session, term: term))
    }

    private func reader(
        of request: Request, _ context: RouterdContext
    ) async throws -> (ObjectReader, ApplicationID) {
        let application = try context.application()
        _ = try request.query()
        return (try ObjectReader(try await request.json()), application)
    }

    private func submit(_ request: GateRequest) async throws -> Response {
        guard case .gate(let gate) = try await submit(.gate(request)) else { throw Problem.unexpectedReply }
        let held = await host.read { $0.heldCount(behind: gate.key) }
        return .json(.ok, JSONWriter.object { GateBody.write(gate, held: held, to: &$0) })
    }
}
