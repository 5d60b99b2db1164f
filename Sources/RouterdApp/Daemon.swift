import DeliveryCurl
import Dispatch
package import Logging
import Plugins
import Router
package import RouterPlugin
import ServiceLifecycle
package import StoreSQLite
package import UnixSignals

/// The daemon: store, transport, engine and HTTP API, started in this order and stopped in the opposite one.
///
///     start   store ─▶ transport ─▶ HTTP (health checks) ─▶ engine (recovers) ─▶ HTTP (the API) ─▶ APNs
///     stop    APNs, HTTP (requests under way are answered) ─▶ engine (attempts under way end, outcomes are committed)
///             ─▶ transport ─▶ store, last
package struct Daemon: Sendable {
    package let configuration: DaemonConfiguration
    package let logger: Logger
    package let store: SQLiteStore
    private let recovered = Recovered<EngineHost>()
    private let transport: CurlTransport
    private let plugins: PluginRegistry
    private let ruleKinds: [RoutingRuleKind]
    private let manifests: [PluginManifest]
    /// The rules of the configuration, and those in use at the start.
    private let configured: RuleSetDraft
    private let draft: RuleSetDraft
    private let reread: (@Sendable () throws(ConfigurationFaults) -> DaemonConfiguration)?
    private let desk: RuleDesk
    private let tracer: RouterTracer
    private let exporter: SpanExporter?
    private let authenticator: Authenticator

    /// Opens everything; nothing is served yet.
    ///
    /// - Parameters:
    ///   - kinds: The kinds that sources and endpoints may name; those of rules are in the configuration already.
    ///   - openFiles: The number of files that the process may have open.
    ///   - reread: Reads the configuration again, whose rules are then used.
    /// - Throws: ``TooFewOpenFiles``, ``StoreError``, ``SessionTokenFileError``, or the error of a plugin or the transport
    ///   that cannot start.
    package init(
        _ configuration: DaemonConfiguration, plugins kinds: PluginSet = BuiltInPlugins.all,
        openFiles: Int = OpenFiles.raiseLimit(),
        rereading reread: (@Sendable () throws(ConfigurationFaults) -> DaemonConfiguration)? = nil,
        logger: Logger
    ) throws {
        self.reread = reread
        let wanted = configuration
        var configuration = try wanted.fitting(openFiles: openFiles)
        Self.tell(wanted, configuration, openFiles: openFiles, logger)
        self.logger = logger
        configured = configuration.ruleDraft
        ruleKinds = kinds.rules
        manifests = kinds.manifests
        let storeConfiguration = SQLiteStoreConfiguration(durability: configuration.durability)
        store = try SQLiteStore(
            path: configuration.database, configuration: storeConfiguration,
            sealing: configuration.secretKeys?.sealing)
        draft = try RulesInUse(configuration, kept: try store.keptRules(), kinds: ruleKinds).draft
        configuration.rules = draft.rules
        if draft.origin == .request, draft.document != configured.document {
            logger.notice(
                "the rules in use are those of a request, and not those of the configuration",
                metadata: ["until": "routerd rules reset, or a start with rulesFrom: configuration"])
        }
        self.configuration = configuration
        plugins = try PluginRegistry(
            sourceKinds: kinds.sources, rules: configuration.rules,
            passcodeValidators: configuration.passcodeValidators, observers: configuration.observers,
            deliveryFormatKinds: kinds.deliveryFormats)
        transport = try CurlTransport(configuration: configuration.transport)
        desk = try RuleDesk(configuration, transport: transport, logger: logger)
        let clock = SteadyClock()
        let spans = configuration.traces.map { _ in SpanQueue() }
        tracer = RouterTracer(queue: spans, percent: configuration.traces?.percent ?? 0)
        exporter = try configuration.traces.flatMap { settings in
            try spans.map {
                try SpanExporter(
                    settings, queue: $0, certificateAuthorityFile: configuration.certificateAuthorityFile,
                    clock: clock, logger: logger)
            }
        }
        authenticator = Authenticator(
            keys: configuration.keys, tokens: try SessionTokens(file: configuration.database + ".tokens"))
    }

    /// The engine, from the call of `run`'s `onListening` on.
    package var host: EngineHost {
        guard let host = recovered.value else { preconditionFailure("The daemon has not recovered yet.") }
        return host
    }

    /// The HTTP API on its own, for tests that call it without a socket.
    package var api: API {
        API(
            host: host, store: store, plugins: plugins, manifests: manifests,
            rules: RuleSource(
                kinds: ruleKinds, mayBePut: configuration.rulesFrom == .database,
                configured: { [configured, reread] () throws(ConfigurationFaults) in
                    try reread?().ruleDraft ?? configured
                }),
            authenticator: authenticator, egress: configuration.egress,
            hasher: PasscodeHasher(cost: configuration.passcodeCost), origins: configuration.edge.allowedOrigins,
            logger: logger)
    }

    /// Serves until it is told to stop, then stops gracefully and closes the store.
    ///
    /// Throws the store's error if the daemon stops because memory and store have diverged, or the store's files are lost.
    ///
    /// - Parameters:
    ///   - socket: The socket of the API, bound by the service manager; nil binds the address of the configuration.
    ///   - supervisor: Is told when the daemon is ready, works, and stops.
    ///   - onAPNsListening: Called for each APNs listener, with its address as a URL.
    ///   - onListening: Called once, with the address at which requests are accepted.
    package func run(
        stoppingOn signals: [UnixSignal] = [.sigterm, .sigint], on socket: ActivationSocket? = nil,
        supervisor: Supervisor? = nil,
        onAPNsListening: @escaping @Sendable (String) async -> Void = { _ in },
        onListening: @escaping @Sendable (ListenAddress) async -> Void
    ) async throws {
        announce()
        let (opened, open) = AsyncStream.makeStream(of: Void.self)
        let (addresses, address) = AsyncStream.makeStream(of: ListenAddress.self)
        let reception = Reception()
        let http = HTTPService(
            reception: reception, listen: configuration.listen, socket: socket, settings: configuration.edge,
            authenticator: authenticator, logger: quiet(logger),
            onListening: { address.yield($0) })
        let engine = EngineService(recovered: recovered, transport: transport) {
            // A port that is taken ends the daemon before a long recovery.
            guard let listen = await addresses.first(where: { _ in true }) else { return }
            guard try await recover(reception, supervisor) else { return }
            MappedPages.giveBack()
            await onListening(listen)
            supervisor?.tell(.ready, .status("listening on \(listen.shown(port: listen.port))"))
            open.finish()
        }
        // The service ends by throwing; the other services then stop as they do at a signal.
        let contradictions = ServiceGroupConfiguration.ServiceConfiguration(
            service: ContradictionService(recovered: recovered), failureTerminationBehavior: .gracefullyShutdownGroup)
        // The spans of the last attempts are exported too.
        let exporters = exporter.map { [ServiceGroupConfiguration.ServiceConfiguration(service: $0)] } ?? []
        var group = ServiceGroupConfiguration(
            services: exporters + [
                .init(service: engine), .init(service: http),
                .init(service: APNsService(after: opened) { [self] in apnsListeners(onAPNsListening) }),
                .init(
                    service: HangUpService(
                        recovered: recovered, authenticator: authenticator, start: configuration, reread: reread,
                        logger: logger)),
                .init(service: LookService(recovered: recovered)),
                .init(service: SupervisorService(supervisor: supervisor, recovered: recovered)), contradictions,
                // The last service is the first to stop.
                .init(service: AttemptService(recovered: recovered)),
            ],
            gracefulShutdownSignals: signals, logger: quiet(logger, to: .notice))
        group.maximumGracefulShutdownDuration = .milliseconds(3 * DaemonLimits.drainMilliseconds)
        do {
            try await ServiceGroup(configuration: group).run()
        } catch {
            await close()
            throw error
        }
        await close()
        logger.info("stopped")
    }

    /// Builds the engine on a thread of its own, and opens the API; says whether it did. A daemon that was told to stop
    /// meanwhile starts nothing.
    private func recover(_ reception: Reception, _ supervisor: Supervisor?) async throws -> Bool {
        let log = RecoveryLog(supervisor: supervisor, logger: logger)
        let queue = DispatchQueue(label: "routerd.recovery", qos: .userInitiated)
        let host = try await queue.perform {
            try EngineHost(
                store: store, transport: transport, rules: plugins.rules, draft: draft, caps: configuration.caps,
                retention: configuration.retention, registration: configuration.registration,
                userAgent: "routerd/\(RouterdVersion.current)", formats: plugins.deliveryFormatKinds,
                observers: plugins.observers, desk: desk, authenticator: authenticator, tracer: tracer, logger: logger
            ) { progress in
                reception.show(progress)
                log.tell(progress)
            }
        }
        guard !Task.isCancelled else { return false }
        await desk.start()
        recovered.set(host)
        reception.open(api)
        await host.start()
        return true
    }

    private func apnsListeners(_ onListening: @escaping @Sendable (String) async -> Void) -> [APNsListener] {
        let settings = configuration.apns
        let ingest = APNsIngest(host: host, settings: settings)
        let clock = SteadyClock()
        let desk = APNsDesk(
            checks: APNsChecks(tokens: settings.tokens, topics: settings.topics), times: settings.times,
            streams: settings.streams, connections: settings.connections, now: { clock.wall },
            noteRefusal: { [logger] request, refusal in
                let metadata: Logger.Metadata = [
                    "reason": "\(refusal.reason)", "detail": "\(refusal.detail)",
                    "topic": "\(request.header("apns-topic") ?? "")",
                ]
                logger.debug("a push was refused", metadata: metadata)
            }, knows: ingest.knows, take: ingest.take)
        let places = [("https", settings.listen, settings.tls), ("http", settings.cleartextListen, nil)]
        return places.compactMap { scheme, address, tls in
            address.map { address in
                APNsListener(at: address, tls: tls, desk: desk) { port in
                    await onListening("\(scheme)://\(address.shown(port: port))")
                }
            }
        }
    }

    /// Closes all that `run` would close; for a daemon that never ran.
    package func close() async {
        await desk.stop()
        await exporter?.close()
        await transport.shutdown(gracePeriodMilliseconds: 0)
        do { try store.close() } catch { logger.error("the store did not close", metadata: ["error": "\(error)"]) }
    }

    /// Logs which settings were lowered to fit the number of open files.
    private static func tell(
        _ wanted: DaemonConfiguration, _ fitted: DaemonConfiguration, openFiles: Int, _ logger: Logger
    ) {
        let pairs = [
            ("http.connections", wanted.edge.connections, fitted.edge.connections),
            ("delivery.slots", wanted.slots, fitted.slots),
            ("delivery.connections", wanted.transport.cachedConnections, fitted.transport.cachedConnections),
            ("lookUps", wanted.transport.furtherLookUps, fitted.transport.furtherLookUps),
        ]
        let less = pairs.filter { $2 < $1 }
        guard !less.isEmpty else { return }
        var metadata: Logger.Metadata = ["openFiles": "\(openFiles)"]
        for (name, _, number) in less { metadata[name] = "\(number)" }
        logger.notice("there are not enough open files for all that is configured", metadata: metadata)
    }

    private func announce() {
        logger.info(
            "starting",
            metadata: [
                "version": "\(RouterdVersion.current)", "database": "\(configuration.database)",
                "durability": "\(configuration.durability.rawValue)", "curl": "\(CurlVersion.describe())",
                "sqlite": "\(SQLiteVersion.linked)",
            ])
        if SQLiteVersion.linked.walResetBugPresent {
            logger.info(
                """
                while the daemon runs, write to the database by routerd alone: this SQLite can damage a file that two \
                programs write (fixed in 3.51.3)
                """)
        }
        for warning in configuration.warnings {
            logger.warning("a setting is risky", metadata: ["setting": "\(warning)"])
        }
        if configuration.keys.isEmpty {
            logger.notice("no API keys: development mode, loopback only, endpoints on loopback are granted")
        }
    }

    /// The frameworks' own start-up lines are for debugging; the daemon logs the same facts itself.
    private func quiet(_ logger: Logger) -> Logger { logger.logLevel == .info ? quiet(logger, to: .notice) : logger }

    /// The lines of the group of services show whole services, with the digests of keys: not even a log for debugging has them.
    private func quiet(_ logger: Logger, to level: Logger.Level) -> Logger {
        var logger = logger
        logger.logLevel = max(logger.logLevel, level)
        return logger
    }
}

/// The beginning of attempts as a service: from a signal on, no attempt begins while connections of clients are still
/// being closed.
private struct AttemptService: Service {
    let recovered: Recovered<EngineHost>

    func run() async throws {
        try? await gracefulShutdown()
        await recovered.value?.stopStarting()
    }
}

/// The engine as a service: recovers at start; at the end lets running attempts finish and commits their outcomes.
private struct EngineService: Service {
    let recovered: Recovered<EngineHost>
    let transport: CurlTransport
    let start: @Sendable () async throws -> Void

    func run() async throws {
        try await cancelWhenGracefulShutdown { try await start() }
        guard let host = recovered.value else { return }
        try? await gracefulShutdown()
        // The recovery may have ended after the signal.
        await host.stopStarting()
        await transport.shutdown(gracePeriodMilliseconds: DaemonLimits.drainMilliseconds)
        await host.drained()
    }
}

/// The APNs listeners as a service, opened when the HTTP API is.
private struct APNsService: Service {
    let after: AsyncStream<Void>
    let make: @Sendable () -> [APNsListener]

    func run() async throws {
        let isOpen = await cancelWhenGracefulShutdown {
            for await _ in after {}
            return !Task.isCancelled
        }
        let listeners = isOpen ? make() : []
        guard !listeners.isEmpty else {
            try? await gracefulShutdown()
            return
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for listener in listeners { group.addTask { try await listener.run() } }
            try await group.waitForAll()
        }
    }
}

/// Reads the configuration again at SIGHUP, which init systems and closing terminals send too, and uses its API keys and rules.
private struct HangUpService: Service {
    let recovered: Recovered<EngineHost>
    let authenticator: Authenticator
    /// The configuration of the start.
    let start: DaemonConfiguration
    let reread: (@Sendable () throws(ConfigurationFaults) -> DaemonConfiguration)?
    let logger: Logger

    func run() async throws {
        for await _ in await UnixSignalsSequence(trapping: .sighup).cancelOnGracefulShutdown() {
            guard let reread, let host = recovered.value else {
                logger.notice("SIGHUP changes nothing: there is no configuration file to read again")
                continue
            }
            do {
                let configuration = try reread()
                replaceKeys(configuration.keys)
                await host.reload(configuration)
                let waiting = start.settingsNeedingStart(in: configuration)
                if !waiting.isEmpty {
                    logger.warning(
                        "settings in the file have changed that are used from a start on",
                        metadata: ["settings": "\(waiting.joined(separator: " "))"])
                }
            } catch {
                logger.error("SIGHUP changes nothing: the configuration has faults", metadata: ["faults": "\(error)"])
            }
        }
    }

    private func replaceKeys(_ keys: [APIKey]) {
        guard let gone = authenticator.replace(with: keys) else {
            return logger.warning("the API keys stay as they are: development mode begins and ends with a start")
        }
        logger.notice(
            "the API keys are in use",
            metadata: ["keys": "\(keys.count)", "revoked": "\(gone.joined(separator: " "))"])
    }
}

/// Looks after the files of the store while nothing is committed, for an idle daemon would lose them unnoticed, and after a
/// clock that is held back.
private struct LookService: Service {
    let recovered: Recovered<EngineHost>

    func run() async throws {
        await cancelWhenGracefulShutdown {
            guard let host = await recovered.wait() else { return }
            while (try? await Task.sleep(for: .milliseconds(DaemonLimits.storeLookMilliseconds))) != nil {
                await host.look()
            }
        }
    }
}

/// Ends the daemon when memory and store have diverged, or the store's files are lost.
private struct ContradictionService: Service {
    let recovered: Recovered<EngineHost>

    func run() async throws {
        try await cancelWhenGracefulShutdown {
            guard let host = await recovered.wait() else { return }
            for await contradiction in host.contradictions { throw contradiction }
        }
    }
}
