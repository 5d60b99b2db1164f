import Logging
import NIOCore
import Router
import RouterPlugin

/// Reads the layers of a configuration and gathers every fault.
///
///     --listen  ▶  ROUTERD_LISTEN  ▶  listen: in the file  ▶  default        the first layer that has the value
package struct ConfigurationLoader {
    /// The reason why a value is unusable; completes "The value …".
    package struct Unusable: Error {
        package let reason: String
        package init(_ reason: String) { self.reason = reason }
    }

    /// The names that a file may use, one entry for each level.
    static let names: [String: [String]] = [
        "": [
            "listen", "database", "durability", "log", "http", "delivery", "retention", "limits", "egress", "secrets",
            "passcodes", "apns", "plugins", "traces",
            "apiKeys", "rules", "rulesFrom", "tests", "passcodeValidators", "observers",
        ],
        "/log": ["level", "format"],
        "/http": [
            "connections", "connectionsPerAddress", "requestSeconds", "bodyBytesPerSecond",
            "requestsPerSecondPerAddress", "allowedOrigins",
        ],
        "/delivery": [
            "slots", "slotsPerOrigin", "slowSlots", "streamSlots", "connections", "presenceSeconds",
            "certificateAuthorityFile",
        ],
        "/retention": ["days", "maxBytes", "repeatHours"],
        "/limits": ["sessionsPerApplication", "sessionBytesPerApplication", "predicateStepsPerApplication"],
        "/egress": ["grants"],
        "/secrets": ["keyFile"],
        "/plugins": ["folder"],
        "/traces": ["collector", "headersFile", "service", "percent"],
        "/passcodes": ["logRounds", "parallelism"],
        "/apns": [
            "listen", "cleartextListen", "certificateFile", "privateKeyFile", "clientCertificateAuthorityFile",
            "providers", "topics", "devices", "unknownDevices", "streams", "connections", "requestsPerSecondPerDevice",
        ],
    ]

    package var faults: [ConfigurationFault] = []
    private let file: ConfigurationFile?
    /// The values of the command line, by setting.
    private let flags: [String: String]
    /// The variables of the environment, by variable.
    private let environment: [String: String]
    /// The single values of the file, by setting.
    private let values: [String: String]

    init(file: ConfigurationFile?, flags: [String: String], environment: [String: String]) {
        self.file = file
        self.flags = flags
        self.environment = environment
        values = file.map { Self.scalars($0.root, "") } ?? [:]
    }

    /// Reads one value from the first layer that has it.
    mutating func read(_ name: String, _ use: (String) throws -> Void) {
        guard let text = flags[name] ?? environment[Self.variable(name)] ?? values[name] else { return }
        do {
            try use(text)
        } catch {
            refuse(name, "The value \((error as? Unusable)?.reason ?? "cannot be used").")
        }
    }

    /// Records a fault of a single value, in the layer that the value came from.
    mutating func refuse(_ name: String, _ message: String) {
        faults.append(fault(name, "/" + name.split(separator: ".").joined(separator: "/"), message))
    }

    /// Refuses names that no setting has: a misspelt name must not go unnoticed.
    mutating func checkNames() {
        guard let file else { return }
        faults += file.faults
        for (pointer, names) in Self.names.sorted(by: { $0.key < $1.key }) {
            guard let value = Self.value(at: pointer, in: file.root), value != .null else { continue }
            guard let object = value.asObject else {
                faults.append(file.fault(pointer, "This must be a mapping of names to values."))
                continue
            }
            for member in object.members where !names.contains(member.key) {
                let message = "There is no setting '\(member.key)' here; there are: \(names.joined(separator: ", "))."
                faults.append(file.fault("\(pointer)/\(member.key)", message))
            }
        }
    }

    /// All faults: first the faults of the command line and the environment, then the faults of the file by their
    /// places.
    ///
    /// A value that YAML misread has one fault, its spelling: further faults of it would describe the misread value.
    var orderedFaults: [ConfigurationFault] {
        let misread = file?.faults ?? []
        let told = faults.filter { fault in
            fault.file == nil || misread.contains(fault) || !misread.contains { $0.pointer == fault.pointer }
        }
        return told.enumerated().sorted { first, second in
            let places = (first.element.place, second.element.place)
            return places.0 == places.1 ? first.offset < second.offset : places.0 < places.1
        }.map(\.element)
    }

    mutating func keys() -> [APIKey] {
        var keys: [APIKey] = []
        for (place, value) in elements("apiKeys") {
            let (key, problems) = APIKeyEntry.read(value, at: "/apiKeys/\(place)")
            if let key { keys.append(key) }
            for problem in problems { report(problem) }
        }
        return keys
    }

    mutating func grants() -> [EgressGrant] {
        var grants: [EgressGrant] = []
        for (place, value) in elements("egress/grants") {
            let (grant, problems) = EgressGrantEntry.read(value, at: "/egress/grants/\(place)")
            if let grant { grants.append(grant) }
            for problem in problems { report(problem) }
        }
        return grants
    }

    mutating func edge() -> EdgeSettings {
        var edge = EdgeSettings()
        read("http.connections") { edge.connections = try Self.integer($0, 1...1_000_000) }
        read("http.connectionsPerAddress") { edge.connectionsPerAddress = try Self.integer($0, 1...1_000_000) }
        read("http.requestSeconds") { edge.times.request = .seconds(Int64(try Self.integer($0, 1...86_400))) }
        read("http.bodyBytesPerSecond") { edge.times.bodyBytesPerSecond = try Self.integer($0, 1...1_000_000_000) }
        read("http.requestsPerSecondPerAddress") {
            edge.requestsPerSecondPerAddress = try Self.integer($0, 1...DaemonLimits.requestsPerSecondMaximum)
        }
        for (place, value) in elements("http/allowedOrigins") {
            if let origin = value.asString, Self.isOrigin(origin) {
                edge.allowedOrigins.insert(origin)
            } else {
                guard let file else { continue }
                let message = "An origin is a scheme, a host and perhaps a port, such as https://app.example."
                faults.append(file.fault("/http/allowedOrigins/\(place)", message))
            }
        }
        return edge
    }

    /// Whether the text is an origin as browsers send it.
    private static func isOrigin(_ text: String) -> Bool {
        guard let scheme = text.firstRange(of: "://") else { return false }
        let isHTTP = text.hasPrefix("https://") || text.hasPrefix("http://")
        let rest = text[scheme.upperBound...]
        let isPlain = rest.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && !"/?#@*".utf8.contains($0) }
        return isHTTP && !rest.isEmpty && isPlain && text == text.lowercased()
    }

    mutating func passcodeCost() -> PasscodeHash.Cost {
        let cost = DaemonLimits.passcodeCost
        var (logRounds, parallelism) = (cost.logRounds, cost.parallelism)
        read("passcodes.logRounds") { logRounds = try Self.integer($0, DaemonLimits.passcodeLogRounds) }
        read("passcodes.parallelism") { parallelism = try Self.integer($0, DaemonLimits.passcodeParallelism) }
        return PasscodeHash.Cost(logRounds: logRounds, blockSize: cost.blockSize, parallelism: parallelism)
    }

    mutating func rules(_ kinds: [RoutingRuleKind]) -> [any RoutingRule] {
        plugins("rules") { (list) throws(PluginRegistryError) in try RoutingRuleCatalog(kinds).readBounded(list) }
    }

    mutating func passcodeValidators(_ kinds: [PasscodeValidatorKind]) -> [any PasscodeValidator] {
        plugins("passcodeValidators") { (list) throws(PluginRegistryError) in
            try PasscodeValidatorCatalog(kinds).read(list)
        }
    }

    mutating func observers(_ kinds: [SceneObserverKind]) -> [any SceneObserver] {
        plugins("observers") { (list) throws(PluginRegistryError) in try SceneObserverCatalog(kinds).read(list) }
    }

    private mutating func plugins<Plugin>(
        _ name: String,
        read: (JSONValue) throws(PluginRegistryError) -> (plugins: [Plugin], faults: [PluginConfigurationError])
    ) -> [Plugin] {
        guard let file, let list = file.root[name], list != .null else { return [] }
        do throws(PluginRegistryError) {
            let (plugins, faults) = try read(list)
            self.faults += faults.map { file.fault("/\(name)" + $0.pointer, $0.message) }
            return plugins
        } catch {
            faults.append(file.fault("/\(name)", "\(error)"))
            return []
        }
    }

    /// The elements of a list of the file, with their places.
    mutating func elements(_ name: String) -> [(Int, JSONValue)] {
        guard let file, let value = Self.value(at: "/\(name)", in: file.root), value != .null else { return [] }
        guard let elements = value.asArray else {
            faults.append(file.fault("/\(name)", "This must be a list."))
            return []
        }
        return Array(elements.enumerated()).map { ($0.offset, $0.element) }
    }

    /// Records a fault of a value of the file.
    mutating func report(_ problem: Problem) {
        guard let file else { return }
        faults.append(file.fault(problem.pointer ?? "", problem.detail))
    }

    /// A fault in the layer that the value came from.
    private func fault(_ name: String, _ pointer: String, _ message: String) -> ConfigurationFault {
        let variable = Self.variable(name)
        if flags[name] != nil { return ConfigurationFault(pointer: "--\(name)", message: message) }
        if environment[variable] != nil { return ConfigurationFault(pointer: variable, message: message) }
        return file?.fault(pointer, message) ?? ConfigurationFault(pointer: pointer, message: message)
    }

    /// The variable of a name, such as `ROUTERD_SECRETS_KEY_FILE` for `secrets.keyFile`.
    private static func variable(_ name: String) -> String {
        var variable = "ROUTERD_"
        for character in name {
            if character.isUppercase { variable += "_" }
            variable += character == "." ? "_" : character.uppercased()
        }
        return variable
    }

    /// The single values of a file, under dotted names.
    private static func scalars(_ value: JSONValue, _ name: String) -> [String: String] {
        switch value {
        case .null, .array: return [:]
        case .bool(let flag): return [name: flag ? "true" : "false"]
        case .number(let number): return [name: number.text]
        case .string(let text): return [name: text]
        case .object(let object):
            return object.members.reduce(into: [:]) { texts, member in
                let path = name.isEmpty ? member.key : "\(name).\(member.key)"
                texts.merge(scalars(member.value, path)) { first, _ in first }
            }
        }
    }

    /// A value of the file, by the names of its levels with slashes between them.
    func value(at path: String) -> JSONValue? { file.flatMap { Self.value(at: "/\(path)", in: $0.root) } }

    private static func value(at pointer: String, in root: JSONValue) -> JSONValue? {
        pointer.split(separator: "/").reduce(Optional(root)) { value, key in value?[String(key)] }
    }
}

extension ConfigurationFault {
    /// Line and column, for sorting; faults without a place come first.
    fileprivate var place: (Int, Int) { (line ?? 0, column ?? 0) }
}

extension ConfigurationLoader {
    static func nonEmpty(_ text: String) throws(Unusable) -> String {
        guard !text.isEmpty else { throw Unusable("must not be empty") }
        return text
    }

    static func integer(_ text: String, _ range: ClosedRange<Int>) throws(Unusable) -> Int {
        guard let number = Int(text), range.contains(number) else {
            throw Unusable("must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    static func choice<Choice: RawRepresentable & CaseIterable>(
        _ text: String
    ) throws(Unusable) -> Choice where Choice.RawValue == String {
        guard let choice = Choice(rawValue: text) else {
            throw Unusable("must be one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return choice
    }
}
