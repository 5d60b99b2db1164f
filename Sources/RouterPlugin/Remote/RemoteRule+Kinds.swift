extension RemoteRule {
    /// A rule in a process of its own.
    package static let process = RoutingRuleKind(
        id: PluginID(unchecked: "routerd.rule.process"),
        summary: "Asks a process in any language; the plugin is confined.", fields: common + ofProcesses,
        permissions: PluginPermissions(
            network: "has the network if the field network is true",
            files: "writes to a folder of its own, and reads the folders of its command and the field reads"),
        isRepeatable: true
    ) { (object) throws(PluginConfigurationError) in
        let fields = try PluginConfiguration(object, declared: common + ofProcesses)
        let command = try fields.required("command", fields.strings("command"))
        guard let program = command.first, !program.isEmpty, command.allSatisfy({ !$0.utf8.contains(0) }) else {
            throw fields.invalid("command", because: "must begin with a program")
        }
        var process = ProcessSettings(command: command)
        process.workers = Int(try fields.integer("workers", in: 1...16) ?? 1)
        process.memoryMebibytes = Int(try fields.integer("memoryMebibytes", in: 16...65_536) ?? 512)
        process.processes = Int(try fields.integer("processes", in: 1...4096) ?? 32)
        process.processorSeconds = Int(try fields.integer("processorSeconds", in: 1...1_000_000) ?? 3600)
        process.network = try fields.boolean("network") ?? false
        process.reads = try fields.strings("reads") ?? []
        guard process.reads.count <= 64, process.reads.allSatisfy({ $0.hasPrefix("/") && !$0.utf8.contains(0) }) else {
            throw fields.invalid("reads", because: "must be at most 64 absolute paths")
        }
        return try RemoteRule(fields, .process(process))
    }

    /// A rule behind a URL.
    package static let callOut = RoutingRuleKind(
        id: PluginID(unchecked: "routerd.rule.http"), summary: "Asks a server over HTTP.",
        fields: common + ofCallOuts,
        permissions: PluginPermissions(network: "posts questions to the field url, within the egress policy"),
        isRepeatable: true
    ) { (object) throws(PluginConfigurationError) in
        let fields = try PluginConfiguration(object, declared: common + ofCallOuts)
        var callOut = CallOutSettings(url: try fields.required("url", fields.string("url")))
        guard callOut.url.hasPrefix("http://") || callOut.url.hasPrefix("https://") else {
            throw fields.invalid("url", because: "must begin with http:// or https://")
        }
        for name in try fields.strings("cacheBy") ?? [] {
            guard let part = CallOutSettings.CacheKeyPart(rawValue: name) else {
                let names = CallOutSettings.CacheKeyPart.allCases.map(\.rawValue).joined(separator: ", ")
                throw fields.invalid("cacheBy", because: "must be a list of: \(names)")
            }
            callOut.cacheBy.append(part)
        }
        let members = try members(fields)
        guard callOut.cacheBy.isEmpty || members.isEmpty else {
            throw fields.invalid("cacheBy", because: "cannot stand beside userInfo, which answers may depend on")
        }
        callOut.cacheSeconds = Int(try fields.integer("cacheSeconds", in: 1...86_400) ?? 60)
        return try RemoteRule(fields, .callOut(callOut))
    }

    private static let common = [
        PluginField("plugin", .string, .required, summary: "The id of the plugin, which decisions and lists show."),
        PluginField(
            "failure", .string, .byDefault("open"), among: ["open", "closed"],
            summary: "The consequence of a missing answer: open accepts, closed vetoes."),
        PluginField(
            "timeoutMilliseconds", .integer, .byDefault(100), unit: "ms", summary: "The time limit of an answer."),
        PluginField(
            "quarantineAfter", .integer, .byDefault(10),
            summary: "The number of faults one after the other that take the plugin out of use."),
        PluginField(
            "applications", .strings, .optional, summary: "The applications that it decides for; all if left out."),
        PluginField("settings", .object, .optional, summary: "An object that the plugin receives unchanged."),
        PluginField(
            "userInfo", .strings, .optional,
            summary: "Members of the sessions' userInfo that the plugin sees at each candidate; none if left out."),
    ]

    private static let ofProcesses = [
        PluginField("command", .strings, .required, summary: "The program and its arguments."),
        PluginField("workers", .integer, .byDefault(1), summary: "The number of processes."),
        PluginField(
            "memoryMebibytes", .integer, .byDefault(512), unit: "MiB",
            summary: "The memory of a worker, all of its processes together."),
        PluginField("processes", .integer, .byDefault(32), summary: "Processes and threads of a worker."),
        PluginField(
            "processorSeconds", .integer, .byDefault(3600), unit: "s",
            summary: "The processor time after which a worker is replaced."),
        PluginField("network", .boolean, .byDefault(false), summary: "Whether it may use the network."),
        PluginField(
            "reads", .strings, .optional,
            summary: "Files and folders that it may read, beside the system's programs and the folders of its command."),
    ]

    private static let ofCallOuts = [
        PluginField("url", .string, .required, summary: "The URL that questions are posted to."),
        PluginField(
            "cacheBy", .strings, .optional,
            summary: "The members of a question that determine its answer; no cache if left out."),
        PluginField("cacheSeconds", .integer, .byDefault(60), unit: "s", summary: "The life of a cached answer."),
    ]

    private static func members(_ fields: PluginConfiguration) throws(PluginConfigurationError) -> [String] {
        let names = try fields.strings("userInfo") ?? []
        guard names.count <= 32, names.allSatisfy({ (1...128).contains($0.utf8.count) }) else {
            throw fields.invalid("userInfo", because: "must be at most 32 names of 1 to 128 bytes")
        }
        return names
    }

    private init(_ fields: PluginConfiguration, _ transport: Transport) throws(PluginConfigurationError) {
        let name = try fields.required("plugin", fields.string("plugin"))
        guard let id = try? PluginID(name) else {
            throw fields.invalid("plugin", because: "must be the id of a plugin, such as com.example.rule.shift")
        }
        let failure = try fields.string("failure") ?? Failure.open.rawValue
        guard let failure = Failure(rawValue: failure) else {
            throw fields.invalid("failure", because: "must be open or closed")
        }
        self.init(
            id: id, transport: transport, failure: failure,
            timeoutMilliseconds: Int(try fields.integer("timeoutMilliseconds", in: 1...30_000) ?? 100),
            quarantineAfter: Int(try fields.integer("quarantineAfter", in: 1...1000) ?? 10),
            applications: try fields.applications("applications"),
            settings: try fields.object("settings") ?? .object(JSONObject()),
            userInfo: try Self.members(fields))
    }
}
