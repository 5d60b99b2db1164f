package import DeliveryCurl
package import Logging
import Plugins
package import Router
package import RouterPlugin
package import StoreSQLite

/// The settings of the daemon at start: the command line before the environment before the file before the defaults.
///
/// Single values may come from each of them (`--listen`, `ROUTERD_LISTEN`, `listen:`); keys, rules and validators,
/// which are lists of objects, come from the file. docs/CONFIGURATION.md lists all of them.
package struct DaemonConfiguration: Sendable {
    package var listen = ListenAddress(host: "127.0.0.1", port: 8080)
    package var database = "routerd.sqlite"
    package var durability = SQLiteStoreConfiguration.Durability.full
    package var logLevel = Logger.Level.info
    package var logFormat = LogFormat.text
    /// The collector of spans; nil records none.
    package var traces: TraceSettings?
    /// How many attempts run at once.
    package var slots = 256
    /// How many of these run at one origin, and how many at slow endpoints; nil takes a share.
    package var slotsPerOrigin: Int?
    package var slowSlots: Int?
    /// How many attempts over streams run at once, beside those.
    package var streamSlots = RouterLimits.streamSlots
    /// The time for which a session counts as connected without a connection to its stream.
    package var presenceSeconds = RouterLimits.presenceSeconds
    /// How many connections to receivers are kept, those in use included; nil takes twice the slots.
    package var connections: Int?
    /// How many threads look up names that were found before, and slow names; nil takes the transport's number.
    package var furtherLookUps: Int?
    /// File with the certificates to trust; nil takes the system's.
    package var certificateAuthorityFile: String?
    /// The limits of the ingest edge.
    package var edge = EdgeSettings()
    /// The keys that seal secrets in the database; nil keeps secrets unsealed.
    package var secretKeys: SecretKeyring?
    /// Grants of the file for addresses that are not public.
    package var grants: [EgressGrant] = []
    package var retention = DaemonLimits.retention
    /// The most that one application may register.
    package var registration = RegistrationLimits()
    /// Cost of each new passcode hash.
    package var passcodeCost = DaemonLimits.passcodeCost
    package var keys: [APIKey] = []
    /// How the APNs provider API is served.
    package var apns = APNsSettings()
    package var rules: [any RoutingRule] = []
    /// The settings of the file as they were written.
    var document = JSONValue.object(JSONObject())
    /// The list of rules as it was written, as JSON.
    package var ruleDocument = Array("[]".utf8)
    /// Where rules come from at a start.
    package var rulesFrom = RulesFrom.database

    /// Where rules come from at a start.
    package enum RulesFrom: String, CaseIterable, Sendable {
        /// From the last request that put rules, else from the configuration.
        case database
        /// From the configuration alone: requests put none.
        case configuration
    }
    /// The folder with the working folders of plugins; nil takes `plugins` beside the database.
    package var pluginFolder: String?
    /// The program whose command `plugin-child` confines plugins.
    package var pluginLauncher = "/proc/self/exe"
    package var passcodeValidators: [any PasscodeValidator] = []
    package var observers: [any SceneObserver] = []

    package init() {}

    /// Where webhooks may go. In development mode loopback is granted too: only this machine can reach the daemon then,
    /// and its users can reach loopback without the daemon.
    package var egress: EgressPolicy {
        EgressPolicy(grants: keys.isEmpty ? grants + EgressGrant.loopback : grants)
    }

    /// Warnings to the operator about a configuration that is valid.
    package var warnings: [String] {
        var warnings: [String] = []
        if let secretKeys {
            if secretKeys.isOpenToAll { warnings.append("secrets.keyFile: every user of this machine may read it") }
        } else {
            warnings.append("no secrets.keyFile: the secrets of endpoints are kept in the database as they are")
        }
        if passcodeCost.parallelism << passcodeCost.logRounds < DaemonLimits.passcodeWork {
            warnings.append("passcodes: hashes are cheaper than OWASP asks of scrypt, and so are guesses")
        }
        if traces?.isOpenToAll == true { warnings.append("traces.headersFile: every user of this machine may read it") }
        if let address = apns.cleartextListen, !address.isLoopback {
            warnings.append("apns.cleartextListen: provider tokens come in clear text over the network")
        }
        return warnings
    }

    /// The settings of the transport that sends webhooks.
    package var transport: CurlConfiguration {
        CurlConfiguration(
            egress: egress, slots: slots, cachedConnections: connections, furtherLookUps: furtherLookUps,
            certificateAuthorityFile: certificateAuthorityFile)
    }

    /// Caps on the attempts under way.
    package var caps: DeliveryCaps {
        var caps = DeliveryCaps(slots: slots, perOrigin: slotsPerOrigin, slow: slowSlots)
        caps.streams = streamSlots
        caps.presenceSeconds = presenceSeconds
        return caps
    }

    /// Reads all layers.
    ///
    /// - Parameters:
    ///   - flags: Values from the command line, under the names that they have in the file.
    ///   - environment: Variables such as `ROUTERD_LISTEN`.
    ///   - plugins: The kinds that the file may name.
    /// - Throws: All faults found, not only the first.
    package static func load(
        file: ConfigurationFile?, flags: [String: String] = [:], environment: [String: String] = [:],
        plugins: PluginSet = BuiltInPlugins.all
    ) throws(ConfigurationFaults) -> DaemonConfiguration {
        var loader = ConfigurationLoader(file: file, flags: flags, environment: environment)
        var configuration = DaemonConfiguration()
        let slots = 1...DaemonLimits.slots
        loader.checkNames()
        loader.read("listen") { configuration.listen = try ListenAddress($0) }
        loader.read("database") { configuration.database = try ConfigurationLoader.nonEmpty($0) }
        loader.read("durability") { configuration.durability = try ConfigurationLoader.choice($0) }
        loader.read("log.level") { configuration.logLevel = try ConfigurationLoader.choice($0) }
        loader.read("log.format") { configuration.logFormat = try ConfigurationLoader.choice($0) }
        loader.read("delivery.slots") { configuration.slots = try ConfigurationLoader.integer($0, slots) }
        loader.read("delivery.slotsPerOrigin") {
            configuration.slotsPerOrigin = try ConfigurationLoader.integer($0, slots)
        }
        loader.read("delivery.slowSlots") { configuration.slowSlots = try ConfigurationLoader.integer($0, slots) }
        loader.read("delivery.streamSlots") { configuration.streamSlots = try ConfigurationLoader.integer($0, slots) }
        loader.read("delivery.presenceSeconds") {
            configuration.presenceSeconds = try ConfigurationLoader.integer($0, DaemonLimits.presenceSeconds)
        }
        loader.read("delivery.connections") { configuration.connections = try ConfigurationLoader.integer($0, slots) }
        loader.read("delivery.certificateAuthorityFile") {
            // libcurl reads the file at the first delivery over TLS; a fault is found here, at the start.
            _ = try PEMFile.certificates($0)
            configuration.certificateAuthorityFile = $0
        }
        loader.read("plugins.folder") { configuration.pluginFolder = try ConfigurationLoader.nonEmpty($0) }
        configuration.traces = loader.traces()
        configuration.edge = loader.edge()
        configuration.retention = loader.retention()
        configuration.registration = loader.registration()
        loader.read("secrets.keyFile") { configuration.secretKeys = try SecretKeyring(path: $0) }
        configuration.passcodeCost = loader.passcodeCost()
        configuration.grants = loader.grants()
        configuration.keys = loader.keys()
        configuration.apns = loader.apns(isDevelopment: configuration.keys.isEmpty)
        configuration.rules = loader.rules(plugins.rules)
        if let file { (configuration.document, configuration.ruleDocument) = (file.root, file.ruleDocument) }
        loader.read("rulesFrom") { configuration.rulesFrom = try ConfigurationLoader.choice($0) }
        _ = loader.tests()
        configuration.passcodeValidators = loader.passcodeValidators(plugins.passcodeValidators)
        configuration.observers = loader.observers(plugins.observers)
        if configuration.keys.isEmpty, !configuration.listen.isLoopback {
            let message = "Without API keys the daemon serves loopback only: configure apiKeys, or listen on 127.0.0.1."
            loader.refuse("listen", message)
        }
        guard loader.faults.isEmpty else { throw ConfigurationFaults(loader.orderedFaults) }
        return configuration
    }
}

/// An address on which the daemon listens.
package struct ListenAddress: Hashable, Sendable {
    package var host: String
    /// 0 picks a free port.
    package var port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Reads `HOST:PORT`; an IPv6 address stands in brackets.
    package init(_ text: String) throws(ConfigurationLoader.Unusable) {
        guard let colon = text.lastIndex(of: ":"), case let digits = text[text.index(after: colon)...],
            digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let port = Int(digits), (0...65_535).contains(port)
        else { throw ConfigurationLoader.Unusable("must be HOST:PORT, such as 127.0.0.1:8080") }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { throw ConfigurationLoader.Unusable("must name a host before the port") }
        self.init(host: String(host), port: port)
    }

    /// The address as a URL spells it.
    package func shown(port: Int) -> String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Whether only this machine can reach the address. A host name that begins like an address is still a name.
    package var isLoopback: Bool {
        let bytes = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        return host == "localhost" || host == "::1" || (bytes.count == 4 && bytes[0] == 127 && !bytes.contains(nil))
    }
}
