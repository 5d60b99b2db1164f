import Testing

@testable import RouterPlugin

struct PluginRegistryTests {
    private struct Source: PayloadSource {
        let id: PluginID
        func verify(_ request: SourceRequest, with secrets: [SourceSecret]) throws(SourceError) {}
        func decode(_ request: SourceRequest) throws(SourceError) -> SourceDecoding { SourceDecoding([]) }
    }

    private struct Rule: RoutingRule {
        let id: PluginID
        func verdict(on: Candidate, for: NotificationView, at: Timestamp) -> RoutingVerdict { .accept }
    }

    private func rule(_ id: String) -> Rule { Rule(id: PluginID(unchecked: id)) }
    private func source(_ id: String) -> PayloadSourceKind {
        PayloadSourceKind(id: PluginID(unchecked: id), summary: "", secrets: .none) {
            (_) throws(PluginConfigurationError) in Source(id: PluginID(unchecked: id))
        }
    }

    @Test func pluginsKeepTheirOrderAndAreFoundByName() throws {
        let registry = try PluginRegistry(
            sourceKinds: [source("routerd.source.b"), source("s.a")], rules: [rule("r.b"), rule("r.a")])
        #expect(registry.sourceKinds.map(\.id.text) == ["routerd.source.b", "s.a"])
        #expect(registry.rules.map(\.id.text) == ["r.b", "r.a"])
        #expect(registry.sourceKind(named: "s.a")?.id.text == "s.a")
        #expect(registry.sourceKind(named: "b")?.id.text == "routerd.source.b")
        #expect(registry.sourceKind(named: "r.a") == nil)
    }

    @Test func aNameIsBorneOnce() throws {
        let twice = #expect(throws: PluginRegistryError.self) {
            try PluginRegistry(sourceKinds: [], rules: [rule("x.y"), rule("a.b"), rule("x.y")])
        }
        #expect(twice?.code == "duplicate-plugin")
        #expect(twice?.plugin.text == "x.y")
        #expect(twice?.description == "Two plugins are called x.y.")
        #expect(throws: PluginRegistryError.self) {
            try PluginRegistry(sourceKinds: [source("x.y")], rules: [rule("x.y")])
        }
        let odd = #expect(throws: PluginRegistryError.self) {
            try PluginRegistry(sourceKinds: [source("x y")], rules: [])
        }
        #expect(odd?.code == "invalid-plugin-id")
        let kind = RoutingRuleKind(id: PluginID(unchecked: "x.y"), summary: "") { _ in rule("x.y") }
        #expect(throws: PluginRegistryError.self) { try RoutingRuleCatalog([kind, kind]) }
    }

    // MARK: Plugin sets

    private func kind(_ id: String, version: String = "1.0.0", fields: [PluginField] = []) -> RoutingRuleKind {
        RoutingRuleKind(id: PluginID(unchecked: id), version: version, summary: "", fields: fields) { _ in rule(id) }
    }

    @Test func aSetListsTheKindsThatAreAddedLast() throws {
        let set = try PluginSet(sources: [source("s.a")], rules: [kind("r.b")]).adding(
            sources: [source("s.c")], rules: [kind("r.a")])
        #expect(set.sources.map(\.id.text) == ["s.a", "s.c"])
        #expect(set.rules.map(\.id.text) == ["r.b", "r.a"])
        #expect(set.manifests.map(\.id.text) == ["s.a", "s.c", "r.b", "r.a"])
        #expect(set.manifests.map(\.kind) == [.source, .source, .rule, .rule])
    }

    @Test func aSetRefusesANameThatTwoPluginsBear() throws {
        let twice = #expect(throws: PluginRegistryError.self) {
            try PluginSet(sources: [source("x.y")]).adding(rules: [kind("x.y")])
        }
        #expect(twice?.code == "duplicate-plugin" && twice?.plugin.text == "x.y")
        let odd = #expect(throws: PluginRegistryError.self) { try PluginSet(rules: [kind("x y")]) }
        #expect(odd?.code == "invalid-plugin-id")
    }

    @Test(arguments: ["", "1", "1.0", "1.0.0.0", "1.0.x", "01.0.0", "1..0", "v1.0.0", "1.0.-1"])
    func aSetRefusesAVersionThatIsNotThreeNumbers(version: String) {
        let error = #expect(throws: PluginRegistryError.self) { try PluginSet(rules: [kind("x.y", version: version)]) }
        #expect(error?.code == "invalid-plugin-version")
    }

    @Test(arguments: [["level", "level"], ["id"]])
    func aSetRefusesAFieldThatIsDeclaredTwice(names: [String]) {
        let fields = names.map { PluginField($0, .string, summary: "") }
        let error = #expect(throws: PluginRegistryError.self) { try PluginSet(rules: [kind("x.y", fields: fields)]) }
        #expect(error?.code == "duplicate-field")
    }

    @Test func aManifestIsWrittenAsJSON() throws {
        let fields = [
            PluginField("from", .string, .required, unit: "HH:MM", summary: "Start."),
            PluginField("level", .integer, .byDefault(5), among: [1, 5], summary: "Level."),
            PluginField("names", .strings, summary: "Names."),
        ]
        let permissions = PluginPermissions(files: "reads a list")
        let manifest = PasscodeValidatorKind(
            id: PluginID(unchecked: "r.a"), version: "2.10.0", summary: "", fields: fields, permissions: permissions
        ) { (_) throws(PluginConfigurationError) in
            throw PluginConfigurationError(code: "wrong-type", pointer: "", message: "It is never made.")
        }.manifest
        #expect(
            String(decoding: manifest.json.serialized(), as: UTF8.self) == """
                {"id":"r.a","version":"2.10.0","kind":"validator","status":"stable","summary":"",\
                "permissions":{"network":null,"files":"reads a list"},"fields":[\
                {"name":"from","type":"string","required":true,"unit":"HH:MM","summary":"Start."},\
                {"name":"level","type":"integer","required":false,"default":5,"choices":[1,5],"summary":"Level."},\
                {"name":"names","type":"strings","required":false,"summary":"Names."}],\
                "schema":{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"r.a","description":"",\
                "type":"object","properties":{"id":{"const":"r.a"},\
                "from":{"type":"string","description":"Start. Unit: HH:MM."},\
                "level":{"type":"integer","enum":[1,5],"default":5,"description":"Level."},\
                "names":{"type":"array","items":{"type":"string"},"description":"Names."}},\
                "required":["id","from"],"additionalProperties":false}}
                """)
    }

    /// The router reads some fields of each rule, and leaves those alone that the rule declares itself.
    @Test func theManifestOfARuleHasTheFieldsOfEveryRule() throws {
        func names(_ fields: [PluginField]) -> [String] {
            let listed = kind("r.a", fields: fields).manifest.json["fields"]?.asArray ?? []
            return listed.compactMap { $0["name"]?.asString }
        }
        #expect(names([]) == ["name", "applications", "mode"])
        let own = PluginField("applications", .strings, summary: "Applications.")
        #expect(names([own]) == ["applications", "name", "mode"])
    }

    // MARK: Configured rules

    private func catalog() throws -> RoutingRuleCatalog {
        try RoutingRuleCatalog(
            ["r.a", "r.b"].map { name in
                let id = PluginID(unchecked: name)
                return RoutingRuleKind(id: id, summary: name) { (value) throws(PluginConfigurationError) in
                    _ = try PluginConfiguration(value, fields: ["level"]).integer("level", in: 0...9)
                    return Rule(id: id)
                }
            })
    }

    @Test func allFaultsAreFoundInOneReading() throws {
        let kind = RoutingRuleKind(id: PluginID(unchecked: "r.a"), summary: "") {
            (value) throws(PluginConfigurationError) in
            let configuration = try PluginConfiguration(value, fields: ["level", "label", "more"])
            _ = try configuration.integer("level", in: 0...9)
            _ = try configuration.required("label", configuration.string("label"))
            _ = try configuration.strings("more")
            return Rule(id: PluginID(unchecked: "r.a"))
        }
        let list = try parsed(
            #"[{"id":"r.x"},{"id":"r.a","level":10,"label":7,"odd":1,"more":[1]},7,{"id":"r.a","label":"n","more":0}]"#)
        let (rules, faults) = try RoutingRuleCatalog([kind]).read(list)
        #expect(rules.isEmpty)
        #expect(
            faults.map { "\($0.pointer) \($0.code)" } == [
                "/0/id unknown-plugin", "/1/odd unknown-field", "/1/level invalid-value", "/1/label wrong-type",
                "/2 wrong-type", "/3/id duplicate-plugin", "/3/more wrong-type",
            ])
    }

    @Test func rulesAreMadeInTheOrderOfTheConfiguration() throws {
        let rules = try catalog().rules(configuredBy: parsed(#"[{"id":"r.b","level":1},{"id":"r.a"}]"#))
        #expect(rules.map(\.id.text) == ["r.b", "r.a"])
        #expect(try catalog().rules(configuredBy: []).isEmpty)
    }

    @Test(arguments: [
        ("{}", "wrong-type", "", "The rules must be an array."),
        ("[1]", "wrong-type", "/0", "A rule must be an object."),
        ("[{}]", "missing-field", "/0/id", "The field id is missing."),
        (#"[{"id":"r.c"}]"#, "unknown-plugin", "/0/id", "There is no such rule; the rules are: r.a, r.b."),
        (#"[{"id":1}]"#, "unknown-plugin", "/0/id", "There is no such rule; the rules are: r.a, r.b."),
        (
            #"[{"id":"r.a"},{"id":"r.a"}]"#, "duplicate-plugin", "/1/id",
            "The rule r.a is configured twice; a name makes another one of it."
        ),
        (
            #"[{"id":"r.a"},{"id":"r.b","le/vel":1}]"#, "unknown-field", "/1/le~1vel",
            "There is no such field; the fields are: id, level, name, applications, mode."
        ),
        (#"[{"id":"r.b","level":"1"}]"#, "wrong-type", "/0/level", "The field level must be a whole number."),
        (#"[{"id":"r.b","level":10}]"#, "invalid-value", "/0/level", "The field level must be from 0 to 9."),
    ])
    func aFaultIsNamedWithItsPlace(list: String, code: String, pointer: String, message: String) throws {
        let error = #expect(throws: PluginConfigurationError.self) { try catalog().rules(configuredBy: parsed(list)) }
        #expect(error == PluginConfigurationError(code: code, pointer: pointer, message: message))
        #expect(error?.description == "\(pointer): \(message)")
    }

    @Test func fieldsAreReadWithTheirTypes() throws {
        let value = try parsed(#"{"id":"x","s":"é","n":1e2,"l":["a","b"],"p":5,"bad":[1],"q":7}"#)
        let configuration = try PluginConfiguration(value, fields: ["s", "n", "l", "p", "bad", "q"])
        #expect(try configuration.string("s") == "é")
        #expect(try configuration.integer("n") == 100)
        #expect(try configuration.strings("l") == ["a", "b"])
        #expect(try configuration.priority("p") == .normal)
        #expect(try configuration.string("absent") == nil)
        #expect(try configuration.required("s", configuration.string("s")) == "é")
        let wrong = #expect(throws: PluginConfigurationError.self) { try configuration.strings("bad") }
        #expect(wrong?.pointer == "/bad/0")
        #expect(throws: PluginConfigurationError.self) { try configuration.string("n") }
        #expect(throws: PluginConfigurationError.self) { try configuration.strings("s") }
        #expect(throws: PluginConfigurationError.self) { try configuration.priority("q") }
        let missing = #expect(throws: PluginConfigurationError.self) {
            try configuration.required("absent", configuration.string("absent"))
        }
        #expect(missing?.code == "missing-field")
        #expect(throws: PluginConfigurationError.self) { try PluginConfiguration([], fields: []) }
    }
}
