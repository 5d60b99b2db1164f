import DeliveryCurl
import HTTPTypes
import Hummingbird
import HummingbirdCore
import HummingbirdTesting
import Logging
import NIOCore
import Plugins
import Router
import RouterPlugin
import RouterdApp
import StoreSQLite

/// The daemon in this process: its API, its engine, its store on disk and libcurl.
struct TestDaemon: Sendable {
    let host: EngineHost
    let store: WatchedStore
    let client: PatientClient

    /// The set-up of a daemon for a test.
    struct Options: Sendable {
        /// Nil takes a file for this test.
        var database: String?
        var keys: [APIKey] = []
        /// The tests' receivers are on loopback, with keys or without.
        var egress = EgressPolicy.grantingLoopback
        var rules: [any RoutingRule] = []
        /// Asks the remote ones among the rules; nil asks each where its settings say.
        var desk: RuleDesk?
        var passcodeValidators: [any PasscodeValidator] = []
        var ruleSource = RuleSource()
        /// A session stays connected without a stream for longer than a test takes, however busy the machine is.
        var caps = {
            var caps = DeliveryCaps(slots: 16)
            caps.presenceSeconds = 3600
            return caps
        }()
        /// A client may be slow, however busy the machine is.
        var edge = {
            var edge = EdgeSettings()
            edge.times.head = .hours(1)
            edge.times.request = .hours(1)
            edge.times.idle = .hours(1)
            return edge
        }()
        var retention = RetentionPolicy.unlimited
        var feed = FeedSettings()
        var streams = StreamSettings()
        var observers: [any SceneObserver] = []
        var observerLimits = ObserverLimits()
        /// Whether the API is called through a socket.
        var isLive = false
        var logger = Logger.silent
    }

    /// Calls the API.
    func call(
        _ method: HTTPRequest.Method, _ path: String, bytes: [UInt8]?, headers: [String: String]
    ) async throws -> Answer {
        let body = bytes.map { ByteBuffer(bytes: $0) }
        let response = try await client.execute(uri: path, method: method, headers: HTTPFields(headers), body: body)
        return Answer(response.head, response.body)
    }

    /// Checks the condition after each commit until it holds; a test that runs out of time is cancelled here.
    func until(_ isSo: () async throws -> Bool) async throws {
        while true {
            let seen = store.commits.count
            if try await isSo() { return }
            try await store.commits.reached(seen + 1)
        }
    }
}

extension HTTPFields {
    init(_ headers: [String: String]) {
        self.init()
        for (name, value) in headers {
            guard let name = HTTPField.Name(name) else { preconditionFailure("not a header name: \(name)") }
            self[name] = value
        }
    }
}

// MARK: - The application of the tests

/// A caller of the API of a daemon, in this process or in a separate one.
protocol APICaller: Sendable {
    func call(
        _ method: HTTPRequest.Method, _ path: String, bytes: [UInt8]?, headers: [String: String]
    ) async throws -> Answer

    /// Checks whether the condition holds, again after each change of the daemon, until it does.
    func until(_ holds: () async throws -> Bool) async throws
}

extension APICaller {
    @discardableResult
    func call(
        _ method: HTTPRequest.Method, _ path: String, _ body: String? = nil, headers: [String: String] = [:]
    ) async throws -> Answer {
        try await call(method, path, bytes: body.map { Array($0.utf8) }, headers: headers)
    }

    func call(_ method: HTTPRequest.Method, _ path: String, bytes: [UInt8]?) async throws -> Answer {
        try await call(method, path, bytes: bytes, headers: [:])
    }

    /// Puts the gallery, by default with patient delivery settings.
    @discardableResult
    func putGallery(_ body: String = TestDaemon.patientGallery) async throws -> Answer {
        try await call(.put, TestDaemon.gallery, body)
    }

    /// Puts a session of the gallery with an endpoint at the URL.
    @discardableResult
    func putSession(_ id: String, at url: String, _ fields: String = "") async throws -> Answer {
        let endpoint = #""endpoint":{"url":"\#(url)","secret":"\#(Receiver.secret)"}"#
        return try await call(
            .put, "\(TestDaemon.gallery)/sessions/\(id)", "{\(endpoint)\(fields.isEmpty ? "" : ",")\(fields)}")
    }

    func session(_ id: String) async throws -> Answer {
        try await call(.get, "\(TestDaemon.gallery)/sessions/\(id)")
    }

    /// Posts a notification about a content, or without one.
    @discardableResult
    func post(about contentID: String?, headers: [String: String] = [:]) async throws -> Answer {
        let field = contentID.map { #""notification-content-id":"\#($0)""# } ?? ""
        return try await post("{\(field)}", headers: headers)
    }

    @discardableResult
    func post(_ payload: String, headers: [String: String] = [:], query: String = "") async throws -> Answer {
        try await call(.post, "\(TestDaemon.gallery)/notifications\(query)", payload, headers: headers)
    }

    func notification(_ id: String) async throws -> Answer { try await call(.get, "/v1/notifications/\(id)") }
}

extension TestDaemon: APICaller {
    static let gallery = "/v1/applications/com.example.gallery"

    /// One immediate retry, and a time limit that no attempt reaches while a receiver holds it, however busy the
    /// machine is.
    static let patientGallery = #"{"delivery":{"retrySchedule":[0],"timeoutSeconds":300}}"#

    /// The notification, once it is settled.
    func settled(_ id: String) async throws -> Answer {
        var answer = try await notification(id)
        try await until {
            answer = try await notification(id)
            return !["held", "waiting", "inFlight"].contains(answer["state"].asString)
        }
        return answer
    }
}

/// Activation conditions with these predicates, as fields of a session.
func conditions(can: String? = nil, prefers: String? = nil, level: Int = 0) -> String {
    var fields = [#""preferenceLevel":\#(level)"#]
    if let can { fields.append(#""canActivateForTargetContentIdentifierPredicate":"\#(can)""#) }
    if let prefers { fields.append(#""prefersToActivateForTargetContentIdentifierPredicate":"\#(prefers)""#) }
    return #""activationConditions":{\#(fields.joined(separator: ","))}"#
}

// MARK: - Running

/// Runs `body` with a daemon that is stopped afterwards like the real one: attempts end, outcomes are committed.
func withDaemon<Value>(
    _ options: TestDaemon.Options = .init(), _ body: @Sendable (TestDaemon) async throws -> Value
) async throws -> Value {
    let directory = try TemporaryDirectory()
    let store = WatchedStore(
        try SQLiteStore(
            path: options.database ?? directory.file(),
            configuration: SQLiteStoreConfiguration(durability: .normal)))
    let transport = try CurlTransport(
        configuration: CurlConfiguration(egress: options.egress, slots: options.caps.slots))
    let plugins = try PluginRegistry(
        sourceKinds: BuiltInPlugins.sourceKinds, rules: options.rules, passcodeValidators: options.passcodeValidators,
        observers: options.observers, deliveryFormatKinds: BuiltInPlugins.deliveryFormatKinds)
    let desk =
        try options.desk
        ?? RuleDesk(
            options.rules, folder: directory.file("plugins"), transport: transport, logger: options.logger)
    let authenticator = Authenticator(keys: options.keys)
    let host = try EngineHost(
        store: store, transport: transport, rules: options.rules, caps: options.caps,
        retention: options.retention, userAgent: "routerd/test", feed: options.feed, observers: options.observers,
        observerLimits: options.observerLimits, desk: desk, authenticator: authenticator, logger: options.logger)
    let api = API(
        host: host, store: store, plugins: plugins, rules: options.ruleSource,
        authenticator: authenticator,
        egress: options.egress,
        hasher: PasscodeHasher(cost: PasscodeHash.Cost(logRounds: 4, blockSize: 1, parallelism: 1)),
        streams: options.streams, origins: options.edge.allowedOrigins, logger: options.logger)
    let server = HTTPServerBuilder.edge(options.edge, api.authenticator)
    await host.start()
    let result: Result<Value, any Error>
    do {
        if options.isLive {
            result = .success(
                try await PatientClient.serve(api.router(), server, logger: options.logger) {
                    try await body(TestDaemon(host: host, store: store, client: $0))
                })
        } else {
            let application = Hummingbird.Application(router: api.router(), server: server, logger: options.logger)
            result = .success(
                try await application.test(.router) {
                    try await body(TestDaemon(host: host, store: store, client: PatientClient($0)))
                })
        }
    } catch {
        result = .failure(error)
    }
    await host.stopStarting()
    await transport.shutdown(gracePeriodMilliseconds: 0)
    // After a failure an outcome may never come, and the failure must be reported, not waited for.
    if case .success = result { await host.drained() }
    try store.base.close()
    return try result.get()
}

/// Runs `body` with a daemon that has the gallery, and a receiver for its sessions.
func withGallery<Value>(
    _ options: TestDaemon.Options = .init(), application: String = TestDaemon.patientGallery,
    _ body: @Sendable (TestDaemon, Receiver) async throws -> Value
) async throws -> Value {
    try await withReceiver { receiver in
        try await withDaemon(options) { daemon in
            try await daemon.putGallery(application)
            return try await body(daemon, receiver)
        }
    }
}
