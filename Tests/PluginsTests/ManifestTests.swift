import Plugins
import RouterPlugin
import RouterTesting
import Testing

/// The manifests of the built-in plugins describe what the plugins read.
struct ManifestTests {
    private static let ruleExamples: [String: JSONValue] = [
        "routerd.rule.quiet-hours": [
            "start": "22:00", "end": "07:00", "utcOffsetMinutes": 60, "belowPriority": 10,
            "applications": ["com.example.Gallery"],
        ],
        "routerd.rule.state-floor": ["floor": "background", "atOrBelowPriority": 5],
        "routerd.rule.digest": ["everyMinutes": 15],
        "routerd.rule.rate-limit": ["perSession": 10, "perContent": 1, "seconds": 60, "then": "hold"],
        "routerd.rule.canary": ["configuration": "Next", "percent": 5],
        "routerd.rule.maintenance": ["devices": ["a"], "until": "2026-01-02T06:00:00Z"],
        "routerd.rule.declared": [
            "name": "a", "applications": ["com.example.Gallery"], "when": "priority < 10",
            "during": ["zone": "UTC", "from": "22:00"], "then": ["hold": "end"], "reason": "night",
        ],
        "routerd.rule.process": [
            "plugin": "com.example.rule.shift", "command": ["/usr/bin/python3", "shift.py"], "failure": "closed",
            "timeoutMilliseconds": 50, "quarantineAfter": 3, "applications": ["com.example.Gallery"],
            "settings": ["floor": 2], "workers": 2, "memoryMebibytes": 64, "processes": 8, "processorSeconds": 60,
            "network": true,
        ],
        "routerd.rule.http": [
            "plugin": "com.example.rule.shift", "url": "https://rules.example.com/shift", "failure": "closed",
            "timeoutMilliseconds": 50, "quarantineAfter": 3, "applications": ["com.example.Gallery"],
            "settings": ["floor": 2], "cacheBy": ["device", "contentId"], "cacheSeconds": 5,
        ],
    ]
    private static let sourceExamples: [String: JSONValue] = [
        "routerd.source.cloudevents": [
            "contentIdAttribute": "subject", "allowedOrigins": ["sender.example.com"], "allowedRate": 120,
        ],
        "routerd.source.grafana": ["header": "x-signature", "timestampHeader": "x-time", "toleranceSeconds": 60],
        "routerd.source.hmac": [
            "header": "x-signature", "algorithm": "sha512", "encoding": "base64", "prefix": "v1=", "separator": ",",
            "signedContent": "{id}.{timestamp}.{body}", "timestampHeader": "x-time", "toleranceSeconds": 60,
            "idHeader": "x-id",
        ],
    ]
    private static let formatExamples: [String: JSONValue] = [
        "routerd.format.cloudevents": ["mode": "binary"],
        "routerd.format.mustache": ["template": "{}", "contentType": "application/json"],
        "routerd.format.ntfy": ["topic": "alerts", "priority": 3],
    ]

    @Test(arguments: BuiltInPlugins.all.rules.map(\.id.text))
    func rulesReadTheFieldsOfTheirManifests(id: String) throws {
        let kind = try #require(BuiltInPlugins.all.rules.first { $0.id.text == id })
        #expect(PluginManifestSuite.violations(of: kind, example: Self.ruleExamples[id] ?? [:]) == [])
    }

    @Test(arguments: BuiltInPlugins.all.sources.map(\.id.text))
    func sourcesReadTheFieldsOfTheirManifests(id: String) throws {
        let kind = try #require(BuiltInPlugins.all.sources.first { $0.id.text == id })
        #expect(PluginManifestSuite.violations(of: kind, example: Self.sourceExamples[id] ?? [:]) == [])
    }

    @Test(arguments: BuiltInPlugins.all.deliveryFormats.map(\.id.text))
    func formatsReadTheFieldsOfTheirManifests(id: String) throws {
        let kind = try #require(BuiltInPlugins.all.deliveryFormats.first { $0.id.text == id })
        #expect(PluginManifestSuite.violations(of: kind, example: Self.formatExamples[id] ?? [:]) == [])
    }

    @Test func validatorsAndObserversReadTheFieldsOfTheirManifests() {
        for kind in BuiltInPlugins.all.passcodeValidators {
            let example: JSONValue = ["passcodes": ["12345678"], "applications": ["com.example.Gallery"]]
            #expect(PluginManifestSuite.violations(of: kind, example: example) == [])
        }
        for kind in BuiltInPlugins.all.observers {
            let example: JSONValue = ["path": "/var/log/events.jsonl", "types": ["scene.*"]]
            #expect(PluginManifestSuite.violations(of: kind, example: example) == [])
        }
    }

    @Test func thePluginsOfTheGuideConform() {
        #expect(PluginManifestSuite.violations(of: FailureCounter.kind) == [])
        #expect(SceneObserverSuite.violations(of: FailureCounter(), seed: 1) == [])
        #expect(PluginManifestSuite.violations(of: DoorSource.kind) == [])
        let example = SourceRequest(
            headers: [("x-door-key", "key"), ("x-door", "north")], body: Array("{}".utf8),
            receivedAt: Timestamp(milliseconds: 0))
        #expect(PayloadSourceSuite.violations(of: DoorSource(), accepting: [example], secrets: ["key"], seed: 1) == [])
    }

    // MARK: The suite itself

    /// A kind that reads `level`, an integer from 0 to 9 or missing, whatever its manifest says.
    private func violations(_ fields: [PluginField], version: String = "1.0.0", summary: String = "Levels.") -> [String]
    {
        let kind = RoutingRuleKind(
            id: PluginID(unchecked: "com.example.rule.level"), version: version, summary: summary, fields: fields
        ) { (value) throws(PluginConfigurationError) in
            let configuration = try PluginConfiguration(value, fields: ["level"])
            _ = try configuration.integer("level", in: 0...9)
            return StateFloorRule()
        }
        return PluginManifestSuite.violations(of: kind, example: ["level": 3])
    }

    @Test func theSuiteFindsWhatAManifestGetsWrong() {
        #expect(violations([PluginField("level", .integer, .byDefault(1), summary: "The level.")]) == [])
        #expect(violations([PluginField("level", .string, summary: "The level.")]).contains("type: level accepts 7"))
        #expect(
            violations([PluginField("level", .integer, .required, summary: "The level.")]) == [
                "required: level is not missed"
            ])
        #expect(
            violations([PluginField("level", .integer, among: [1, 2], summary: "The level.")]) == [
                "type: level accepts 3"
            ])
        #expect(
            violations([PluginField("level", .integer, .byDefault("high"), summary: "The level.")])
                == ["default: that of level has another type"])
        #expect(
            violations([PluginField("level", .integer, .byDefault(5), among: [10], summary: "The level.")])
                == ["default: that of level is not a choice"])
        #expect(!violations([PluginField("depth", .integer, summary: "The depth.")]).isEmpty)
        #expect(violations([], version: "1.0") == ["manifest: invalid-plugin-version"])
        #expect(
            violations([], summary: "levels") == [
                "summary: that of the plugin is not one line that ends with a full stop"
            ])
    }
}
