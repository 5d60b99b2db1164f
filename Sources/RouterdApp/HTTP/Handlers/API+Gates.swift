import HTTPTypes
import Hummingbird
import Router
import RouterPlugin

/// Onboarding gates: their states, and the reports of sessions to them.
extension API {
    @Sendable func listGates(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let id = try context.application()
        let query = try request.query("cursor", "limit")
        let limit = try query.limit(default: DaemonLimits.pageSize, maximum: DaemonLimits.pageMaximum)
        let after = try Cursor.read(query["cursor"])
        let start = try after.map { text throws(Problem) in try GateKey(cursor: text, of: id) }
        let found = try await gates(of: id, after: start, limit: limit + 1)
        let page = Page(of: found, after: nil, limit: limit, key: \.gate.key.cursor)
        return try await answer("gates", page, to: caller) { entry in
            JSONWriter.object { gate in
                GateBody.write(entry.gate, held: entry.held, to: &gate)
                GateBody.write(entry.demos, to: &gate)
            }
        }
    }

    private struct ShownGate: Sendable {
        let gate: OnboardingGate
        let held: Int
        let demos: Set<SessionID>
    }

    /// The first gates behind one, in order. The engine does other work between two parts of a long walk.
    private func gates(
        of id: ApplicationID, after: GateKey?, limit: Int,
        where isWanted: @Sendable @escaping (Tenant, OnboardingGate) -> Bool = { _, _ in true }
    ) async throws(Problem) -> [ShownGate] {
        var found: [ShownGate] = []
        var last = after
        while true {
            let (start, room) = (last, limit - found.count)
            let part = await host.read { engine in
                engine.tenants[id].map { tenant in
                    let page = tenant.gatesInUse(
                        after: start, limit: room, examined: DaemonLimits.sessionsExaminedPerTurn
                    ) { isWanted(tenant, $0) }
                    let shown = page.gates.map { gate in
                        let demos = tenant.demosByDevice[gate.key.device] ?? []
                        return ShownGate(gate: gate, held: engine.heldCount(behind: gate.key), demos: demos)
                    }
                    return (page, shown)
                }
            }
            guard let (page, shown) = part else { throw Problem(.unknownApplication(id)) }
            found += shown
            last = page.last
            if found.count == limit || !page.hasMore { return found }
        }
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
    @Sendable func lockGates(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let application = try context.application()
        _ = try request.query()
        let open = try await gates(of: application, after: nil, limit: .max) { tenant, gate in
            gate.isOpen && tenant.lock(of: gate.key.device).hash != nil
        }
        var locked = 0
        for key in open.map(\.gate.key) {
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
        return (try ObjectReader(try await request.json(in: context)), application)
    }

    private func submit(_ request: GateRequest) async throws -> Response {
        guard case .gate(let gate) = try await submit(.gate(request)) else { throw Problem.unexpectedReply }
        let held = await host.read { $0.heldCount(behind: gate.key) }
        return .json(.ok, JSONWriter.object { GateBody.write(gate, held: held, to: &$0) })
    }
}

extension GateKey {
    /// The text of a cursor behind the gate. That without a device sorts first, and no device has its text.
    fileprivate var cursor: String { device.map { "/\($0)" } ?? "-" }

    fileprivate init(cursor: String, of application: ApplicationID) throws(Problem) {
        guard cursor == "-" || cursor.hasPrefix("/") else { throw Problem.invalidCursor }
        let device = cursor == "-" ? nil : DeviceID(unchecked: String(cursor.dropFirst()))
        self.init(application: application, device: device)
    }
}
