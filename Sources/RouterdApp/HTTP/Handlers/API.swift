import HTTPTypes
package import Hummingbird
package import Logging
import NIOCore
import Plugins
package import Router
package import RouterPlugin

/// The HTTP API: the handler of each method and path. Each handler is in the file of its noun.
package struct API: Sendable {
    let host: EngineHost
    let readers: StoreReaders
    let plugins: PluginRegistry
    let ruleSource: RuleSource
    /// The manifests of every plugin of the program.
    let manifests: [PluginManifest]
    package let authenticator: Authenticator
    let keyRates = SharedRates<[UInt8]>()
    let accepting = AcceptMeter()
    let shares = TenantShares()
    let sourceRuns: SourceRuns
    let passcodeChecks = SharedRates<ApplicationID>()
    let sessionTests = SharedRates<ApplicationID>()
    let hasher: PasscodeHasher
    /// Where registered endpoints may be.
    let egress: EgressPolicy
    let streams: StreamSettings
    /// Origins whose pages may read answers.
    let origins: Set<String>
    let logger: Logger

    package init(
        host: EngineHost, store: any Store, plugins: PluginRegistry,
        manifests: [PluginManifest] = BuiltInPlugins.all.manifests, rules: RuleSource = RuleSource(),
        authenticator: Authenticator, egress: EgressPolicy,
        hasher: PasscodeHasher, streams: StreamSettings = StreamSettings(), origins: Set<String> = [], logger: Logger
    ) {
        self.host = host
        readers = StoreReaders(store)
        self.plugins = plugins
        sourceRuns = SourceRuns(kinds: plugins)
        ruleSource = rules
        self.manifests = manifests
        self.authenticator = authenticator
        self.egress = egress
        self.hasher = hasher
        self.streams = streams
        self.origins = origins
        self.logger = logger
    }

    /// The router of ``Operation/all``.
    package func router() -> Hummingbird.Router<RouterdContext> {
        let router = Hummingbird.Router(context: RouterdContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: CrossOriginMiddleware(origins: origins))
        router.add(middleware: ProblemMiddleware())
        for operation in Operation.all { on(router, operation) }
        refuseOtherMethods(on: router)
        return router
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

    /// Registers the handler of an operation behind the check of the caller's key, and within the operation's bounds.
    private func on(_ router: Hummingbird.Router<RouterdContext>, _ operation: Operation) {
        let handler = operation.handler(self)
        let scope = operation.access.scope
        router.on(RouterPath(operation.path), method: operation.method) { request, context in
            var context = context
            context.bodyBytes = operation.bounds.body
            var caller = Caller(key: nil)
            if let scope {
                caller = try await admit(request, context, to: operation, needing: scope)
                caller.note = operation.note(of: request, context, by: caller)
            }
            let response = try await handle(request, context, caller, within: operation.bounds, handler)
            try operation.bounds.check(response)
            return response
        }
    }

    /// Runs a handler, in a slot of its share where requests have one.
    private func handle(
        _ request: Request, _ context: RouterdContext, _ caller: Caller, within bounds: Operation.Bounds,
        _ handler: Handler
    ) async throws -> Response {
        guard shares.isHeld(bounds.share) else { return try await handler(request, context, caller) }
        var request = request
        if bounds.body > 0 {
            // A body that arrives slowly holds no slot.
            let body = try await request.bytes(in: context)
            request.body = RequestBody(buffer: ByteBuffer(bytes: body))
        }
        let tenant = context.parameters.get("application") == nil ? caller.application : try context.application()
        return try await shares.inTurn(bounds.share, of: tenant) { [request] in
            try await handler(request, context, caller)
        }
    }

    /// The caller of a request, if it may send it.
    private func admit(
        _ request: Request, _ context: RouterdContext, to operation: Operation, needing scope: APIScope
    ) async throws -> Caller {
        if authenticator.isOpen, let refusal = BrowserGuard.refusal(of: request.head) { throw refusal }
        let caller = try authenticator.caller(
            authorization: WebSocketHandshake.authorization(in: request.headers), needing: scope,
            reading: operation.isRead, orToken: operation.access.takesTokens, at: host.clock.wall)
        // The pages of a key share its rate.
        let key = caller.key ?? caller.token.flatMap(authenticator.issuer)
        if let key, let perSecond = key.requestsPerSecond {
            try keyRates.take(key.digest, perSecond: perSecond, at: context.channel.eventLoop.now)
        }
        if context.parameters.get("application") != nil {
            let application = try context.application()
            guard caller.mayUse(application) else {
                // The answer for an application that does not exist: a key reveals nothing about other tenants.
                throw Problem(.unknownApplication(application))
            }
        }
        if let token = caller.token {
            let named = context.parameters.get("session") == nil ? nil : try context.sessionKey()
            if let named, operation.access == .session { try caller.expect(named) }
            try await expectPlace(of: token, and: named)
        }
        return caller
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
        try await readers.read(for: caller.application, body)
    }

    /// The answer with a page of a list, whose bytes are bounded. The first entries are written at once, and others on threads of low
    /// priority, in the turn of the caller's tenant.
    func answer<Element: Sendable>(
        _ name: String, _ page: Page<Element>, to caller: Caller,
        _ entry: @escaping @Sendable (Element) -> [UInt8]?
    ) async throws -> Response {
        var page = page
        if !page.write(atMost: DaemonLimits.writtenAtOnce, entry) {
            page = try await readers.perform(for: caller.application) { [page] in
                var page = page
                page.write(atMost: DaemonLimits.pageBytes, entry)
                return page
            }
        }
        return .json(.ok, page.body(name))
    }

    /// The answer to `/healthz`.
    static var alive: Response { Response.json(.ok, Array(#"{"status":"ok"}"#.utf8)) }

    func readiness() throws -> Response {
        if let fault = host.storeFault() {
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
