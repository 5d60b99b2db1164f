import HTTPTypes
package import Hummingbird
package import Logging
package import Router
package import RouterPlugin

/// The HTTP API: the handler of each method and path. Each handler is in the file of its noun.
package struct API: Sendable {
    let host: EngineHost
    let readers: StoreReaders
    let plugins: PluginRegistry
    let chooser: Chooser
    package let authenticator: Authenticator
    let keyRates = SharedRates<[UInt8]>()
    let sourceRuns: SourceRuns
    let passcodeChecks = SharedRates<ApplicationID>()
    let sessionTests = SharedRates<ApplicationID>()
    let hasher: PasscodeHasher
    /// Where registered endpoints may be.
    let egress: EgressPolicy
    let streams: StreamSettings
    let logger: Logger

    package init(
        host: EngineHost, store: any Store, plugins: PluginRegistry, keys: [APIKey], egress: EgressPolicy,
        hasher: PasscodeHasher, streams: StreamSettings = StreamSettings(), logger: Logger
    ) {
        self.host = host
        readers = StoreReaders(store)
        self.plugins = plugins
        sourceRuns = SourceRuns(kinds: plugins)
        self.chooser = Chooser(rules: plugins.rules)
        self.authenticator = Authenticator(keys: keys)
        self.egress = egress
        self.hasher = hasher
        self.streams = streams
        self.logger = logger
    }

    package func router() -> Hummingbird.Router<RouterdContext> {
        let router = Hummingbird.Router(context: RouterdContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: ProblemMiddleware())
        router.get("healthz") { _, _ in Self.alive }
        router.get("readyz") { _, _ in try await readiness() }

        let application = "v1/applications/{application}"
        on(router, .get, "v1/applications", .admin, listApplications)
        on(router, .put, application, .admin, putApplication)
        on(router, .get, application, .admin, getApplication)
        on(router, .delete, application, .admin, deleteApplication)

        on(router, .post, "\(application)/delegate/rotate-secret", .admin, rotateDelegateSecret)
        on(router, .post, "\(application)/delegate/resume", .sessions, resumeDelegate)
        let configuration = "\(application)/sceneConfigurations/{configuration}"
        on(router, .post, "\(configuration)/endpoint/rotate-secret", .admin, rotateConfigurationSecret)

        on(router, .get, "\(application)/sessions", .sessions, listSessions)
        on(router, .post, "\(application)/sessions:batch", .sessions, putSessionBatch)
        on(router, .put, "\(application)/sessions/{session}", .sessions, putSession)
        on(router, .patch, "\(application)/sessions/{session}", .sessions, patchSession)
        on(router, .get, "\(application)/sessions/{session}", .sessions, getSession)
        on(router, .delete, "\(application)/sessions/{session}", .sessions, deleteSession)
        on(router, .post, "\(application)/sessions/{session}/activate", .sessions, activateSession)
        on(router, .post, "\(application)/sessions/{session}/refresh", .sessions, refreshSession)
        on(router, .post, "\(application)/sessions/{session}/disconnect", .sessions, disconnectSession)
        on(router, .post, "\(application)/sessions/{session}/test", .sessions, testSession)
        on(router, .post, "\(application)/sessions/{session}/endpoint/rotate-secret", .sessions, rotateSessionSecret)

        addSources(to: router)
        addGates(of: application, to: router)
        on(router, .post, "\(application)/activations", .sessions, postActivation)
        on(router, .post, "\(application)/notifications", .ingest, postNotification)
        on(router, .post, "\(application)/events", .ingest, postEvent)
        on(router, .post, "\(application)/notifications:batch", .ingest, postNotificationBatch)
        on(router, .post, "\(application)/explain", .ingest, explain)
        on(router, .get, "v1/notifications", .ingest, listNotifications)
        on(router, .get, "v1/notifications/{notification}", .ingest, getNotification)
        on(router, .post, "v1/notifications/{notification}/cancel", .ingest, cancelNotification)
        on(router, .post, "v1/notifications/{notification}/replay", .ingest, replayNotification)

        on(router, .post, "v1/replays", .ingest, postReplay)
        on(router, .get, "v1/replays", .ingest, listReplays)
        on(router, .get, "v1/replays/{replay}", .ingest, getReplay)
        on(router, .post, "v1/replays/{replay}/cancel", .ingest, cancelReplay)

        on(router, .post, "v1/apply", .admin, applySet)
        on(router, .get, "v1/status", .admin, status)
        on(router, .post, "v1/clock/confirm", .admin, confirmClock)
        on(router, .get, "v1/stream", .sessions, stream)
        on(router, .get, "v1/lanes", .sessions, listLanes)
        on(router, .post, "v1/lanes/{session}/resume", .sessions, resumeLane)
        refuseOtherMethods(on: router)
        return router
    }

    private func addSources(to router: Hummingbird.Router<RouterdContext>) {
        let source = "v1/sources/{source}"
        on(router, .get, "v1/sources", .sessions, listSources)
        on(router, .put, source, .sessions, putSource)
        on(router, .get, source, .sessions, getSource)
        on(router, .delete, source, .sessions, deleteSource)
        on(router, .post, "\(source)/rotate-secret", .sessions, rotateSourceSecret)
        on(router, .post, "\(source)/test", .sessions, testSource)
        for method in [HTTPRequest.Method.post, .options] { router.on(RouterPath(source), method: method, use: ingest) }
    }

    private func addGates(of application: String, to router: Hummingbird.Router<RouterdContext>) {
        on(router, .get, "\(application)/gates", .sessions, listGates)
        on(router, .get, "\(application)/gate", .sessions, getGate)
        on(router, .post, "\(application)/gate/open", .sessions, openGate)
        on(router, .post, "\(application)/gate/progress", .sessions, reportProgress)
        on(router, .post, "\(application)/gate/succeed", .sessions, succeedAtGate)
        on(router, .post, "\(application)/gate/fail", .sessions, failAtGate)
        on(router, .post, "\(application)/gate/reset", .sessions, resetGate)
        let passcode = "\(application)/gate/passcode"
        on(router, .get, passcode, .sessions, getPasscode)
        on(router, .post, "\(passcode)/check", .sessions, checkPasscode)
        on(router, .post, "\(passcode)/create", .sessions, createPasscode)
        on(router, .post, "\(passcode)/input", .sessions, inputPasscode)
        on(router, .post, "\(passcode)/change", .sessions, changePasscode)
        on(router, .post, "\(passcode)/challenge", .sessions, challengeDevice)
        on(router, .post, "\(passcode)/answer", .sessions, answerChallenge)
    }

    /// The framework answers a known path with another method as an unknown path; clients are told the methods of the
    /// path.
    private func refuseOtherMethods(on router: Hummingbird.Router<RouterdContext>) {
        for routes in Dictionary(grouping: router.routes, by: \.path.description).values {
            var taken = Set(routes.map(\.method))
            if taken.contains(.get) { taken.insert(.head) }
            let allow = taken.map(\.rawValue).sorted().joined(separator: ", ")
            for method in Self.methods.subtracting(taken) {
                router.on(routes[0].path, method: method) { _, _ -> Response in throw Problem.notAllowed(allow) }
            }
        }
    }

    private static let methods: Set<HTTPRequest.Method> = [.get, .head, .put, .post, .patch, .delete, .options]

    typealias Handler = @Sendable (Request, RouterdContext, Caller) async throws -> Response

    /// Registers a handler behind the check of the caller's key.
    private func on(
        _ router: Hummingbird.Router<RouterdContext>, _ method: HTTPRequest.Method, _ path: String, _ scope: APIScope,
        _ handler: @escaping Handler
    ) {
        router.on(RouterPath(path), method: method) { request, context in
            if authenticator.isOpen, let refusal = BrowserGuard.refusal(of: request.head) { throw refusal }
            let caller = try authenticator.caller(
                authorization: request.headers[.authorization], needing: scope)
            if let key = caller.key, let perSecond = key.requestsPerSecond {
                try keyRates.take(key.digest, perSecond: perSecond, at: context.channel.eventLoop.now)
            }
            if context.parameters.get("application") != nil {
                let application = try context.application()
                guard caller.mayUse(application) else {
                    // The answer for an application that does not exist: a key reveals nothing about other tenants.
                    throw Problem(.unknownApplication(application))
                }
            }
            return try await handler(request, context, caller)
        }
    }

    /// One command, one answer.
    func submit(_ command: Command) async throws(Problem) -> Reply {
        guard let reply = await host.submit([command])?.first else { throw .overloaded }
        if case .refused(let refusal) = reply { throw Problem(refusal) }
        return reply
    }

    /// Reads the store in the turn of the caller's tenant; the threads that answer requests do not wait for it.
    func reading<Value: Sendable>(
        for caller: Caller, _ body: @escaping @Sendable (any Store) throws -> Value
    ) async throws -> Value {
        try await readers.read(for: caller.key?.application, body)
    }

    /// The answer to `/healthz`.
    static var alive: Response { Response.json(.ok, Array(#"{"status":"ok"}"#.utf8)) }

    private func readiness() async throws -> Response {
        if let fault = await host.storeFault() {
            throw Problem(.serviceUnavailable, fault.code.rawValue, "The store cannot be written.", retryAfter: 1)
        }
        return Response.json(.ok, Array(#"{"status":"ready"}"#.utf8))
    }
}

/// Turns refusals of the framework itself, such as an unknown path, into problems like all others.
struct ProblemMiddleware: RouterMiddleware {
    func handle(
        _ request: Request, context: RouterdContext,
        next: @concurrent (Request, RouterdContext) async throws -> Response
    ) async throws -> Response {
        do {
            // The framework skips empty segments, and would read the next segment as the missing id.
            guard !request.uri.path.contains("//") else { throw HTTPError(.notFound) }
            return try await next(request.askingForItsBody(on: context.channel), context)
        } catch let problem as Problem {
            return try problem.response(from: request, context: context)
        } catch let error as HTTPError {
            return try Self.problem(for: error).response(from: request, context: context)
        } catch is PasscodeHasher.Overloaded {
            return try Problem.overloaded.response(from: request, context: context)
        } catch let error as StoreError {
            context.logger.error("the store could not be read", metadata: ["error": "\(error)"])
            return try Problem(.storeUnavailable(error)).response(from: request, context: context)
        }
    }

    private static func problem(for error: HTTPError) -> Problem {
        switch error.status {
        case .notFound: Problem(.notFound, "not-found", "There is nothing at this path.")
        default:
            Problem(error.status, "refused", error.body ?? "The request cannot be taken.")
        }
    }
}
