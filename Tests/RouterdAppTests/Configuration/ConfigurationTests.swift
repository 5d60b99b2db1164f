import Router
import RouterPlugin
import RouterdApp
import StoreSQLite
import Testing

/// Where a setting comes from, and what is no setting.
@Suite("Configuration")
struct ConfigurationTests {
    private static let file = """
        listen: 127.0.0.1:1
        database: file.sqlite
        durability: normal
        log: {level: debug}
        delivery: {slots: 7, slotsPerOrigin: 5, slowSlots: 3, certificateAuthorityFile: file.pem}
        """
    private static let environment = [
        "ROUTERD_LISTEN": "127.0.0.1:2", "ROUTERD_DATABASE": "environment.sqlite", "ROUTERD_DURABILITY": "full",
        "ROUTERD_LOG_LEVEL": "warning", "ROUTERD_DELIVERY_SLOTS": "8",
        "ROUTERD_DELIVERY_CERTIFICATE_AUTHORITY_FILE": "environment.pem",
    ]
    private static let flags = ["listen": "127.0.0.1:3", "database": "flag.sqlite"]

    private func load(
        _ text: String?, flags: [String: String] = [:], environment: [String: String] = [:]
    ) throws(ConfigurationFaults) -> DaemonConfiguration {
        let file = try text.map { text throws(ConfigurationFaults) in try ConfigurationFile(path: "f", text: text) }
        return try DaemonConfiguration.load(file: file, flags: flags, environment: environment)
    }

    @Test func withoutAnythingThereAreDefaults() throws {
        let configuration = try load(nil)
        #expect(configuration.listen == ListenAddress(host: "127.0.0.1", port: 8080))
        #expect(configuration.database == "routerd.sqlite")
        #expect(configuration.durability == .full)
        #expect(configuration.caps == DeliveryCaps(slots: 256, perOrigin: 64, slow: 32))
        #expect(configuration.certificateAuthorityFile == nil)
        #expect(configuration.keys.isEmpty && configuration.rules.isEmpty)
    }

    @Test func theNearestLayerWins() throws {
        let file = try load(Self.file)
        #expect(file.listen.port == 1 && file.database == "file.sqlite")
        #expect(
            file.durability == .normal && file.caps == DeliveryCaps(slots: 7, perOrigin: 5, slow: 3)
                && file.certificateAuthorityFile == "file.pem")

        let environment = try load(Self.file, environment: Self.environment)
        #expect(environment.listen.port == 2 && environment.database == "environment.sqlite")
        #expect(environment.durability == .full && environment.slots == 8)
        #expect(environment.certificateAuthorityFile == "environment.pem")
        #expect("\(environment.logLevel)" == "warning")

        let flags = try load(Self.file, flags: Self.flags, environment: Self.environment)
        #expect(flags.listen.port == 3 && flags.database == "flag.sqlite")
        #expect(flags.slots == 8, "the layers behind it still count for the rest")
    }

    @Test func everyFaultIsToldAtOnce() throws {
        let text = """
            lissen: 127.0.0.1:1
            durability: sometimes
            delivery: {slots: 0}
            apiKeys:
              - {name: a}
              - {scopes: [admin]}
            rules:
              - {id: nobody}
            """
        let faults = try #require(
            #expect(throws: ConfigurationFaults.self) {
                try load(text, flags: ["listen": "x"], environment: ["ROUTERD_LOG_LEVEL": "loud"])
            })
        let pointers = faults.faults.map(\.pointer)
        for pointer in [
            "/lissen", "/durability", "/delivery/slots", "/apiKeys/0/scopes", "/apiKeys/1/name", "/rules/0/id",
            "--listen", "ROUTERD_LOG_LEVEL",
        ] { #expect(pointers.contains(pointer), "\(pointer): \(faults)") }
        for fault in faults.faults where fault.pointer.hasPrefix("/") {
            #expect(fault.file == "f" && fault.line != nil && fault.column != nil, "\(fault)")
        }
    }

    @Test(arguments: [
        ("127.0.0.1:80", true), ("localhost:1", true), ("[::1]:0", true), ("127.8.8.8:9", true),
        ("0.0.0.0:80", false), ("[::]:80", false), ("10.0.0.1:80", false), ("example.com:80", false),
        ("127.0.0.1.example.com:80", false), ("127.example.com:80", false), ("localhost.example.com:80", false),
    ])
    func withoutKeysOnlyLoopbackIsServed(address: String, isLoopback: Bool) throws {
        #expect(try ListenAddress(address).isLoopback == isLoopback)
        let keys = "apiKeys: [{name: a, scopes: [admin], sha256: \(String(repeating: "ab", count: 32))}]"
        #expect(try load(keys, flags: ["listen": address]).keys.count == 1)
        if isLoopback {
            #expect(try load(nil, flags: ["listen": address]).keys.isEmpty)
        } else {
            let faults = #expect(throws: ConfigurationFaults.self) { try load(nil, flags: ["listen": address]) }
            #expect(faults?.description.contains("Without API keys") == true)
        }
    }

    @Test(arguments: [
        "", "127.0.0.1", ":80", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:+1",
    ])
    func badAddressesAreRefused(text: String) {
        #expect(throws: ConfigurationFaults.self) { try load(nil, flags: ["listen": text]) }
    }

    @Test func keysAreReadWithTheirBounds() throws {
        let digits = APIKey.digest(of: "rk_test").map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        let text = """
            apiKeys:
              - name: ci
                scopes: [ingest, sessions]
                application: com.example.gallery
                sha256: \(digits.joined())
            """
        let key = try #require(try load(text).keys.first)
        let expected = APIKey(
            name: "ci", key: "rk_test", scopes: [.ingest, .sessions],
            application: ApplicationID(unchecked: "com.example.gallery"))
        #expect(key == expected)
        #expect(key.allows(.ingest) && !key.allows(.admin))
    }

    @Test func grantsAreReadWithTheirBounds() throws {
        let grants = try load(
            """
            egress:
              grants:
                - network: 10.20.0.0/16
                - {application: com.example.gallery, host: "*.Hooks.internal", ports: [443, "8443", 8000-8099]}
                - {host: a.internal, network: "::ffff:10.0.0.1"}
            """
        ).grants
        let gallery = ApplicationID(unchecked: "com.example.gallery")
        #expect(
            grants == [
                EgressGrant(network: try IPNetwork("10.20.0.0/16")),
                EgressGrant(
                    application: gallery, host: try HostPattern("*.hooks.internal"),
                    ports: [443...443, 8443...8443, 8000...8099]),
                EgressGrant(host: try HostPattern("a.internal"), network: try IPNetwork("10.0.0.1/32")),
            ])
    }

    @Test func loopbackIsGrantedInDevelopmentModeOnly() throws {
        let keys = "apiKeys: [{name: a, scopes: [admin], sha256: \(String(repeating: "ab", count: 32))}]"
        let grant = "egress: {grants: [{network: 10.0.0.0/8}]}"
        let ten = EgressGrant(network: try IPNetwork("10.0.0.0/8"))
        #expect(try load(nil).egress == .grantingLoopback)
        #expect(try load(keys).egress == EgressPolicy())
        #expect(try load("\(keys)\n\(grant)").egress == EgressPolicy(grants: [ten]))
        #expect(try load(grant).egress == EgressPolicy(grants: [ten] + EgressGrant.loopback))
    }

    @Test func rulesAreMadeInTheirOrder() throws {
        let rules = try load(
            """
            rules:
              - {id: routerd.rule.state-floor, floor: foregroundActive}
              - {id: routerd.rule.quiet-hours, start: "22:00", end: "07:00"}
            """
        ).rules
        #expect(rules.map(\.id.text) == ["routerd.rule.state-floor", "routerd.rule.quiet-hours"])
    }
}
