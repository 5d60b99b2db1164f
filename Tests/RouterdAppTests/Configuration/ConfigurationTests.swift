import DeliveryCurl
import Foundation
import NIOCore
import Router
import RouterPlugin
import StoreSQLite
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// The origin of each setting, and names that are no settings.
@Suite("Configuration")
struct ConfigurationTests {
    private let directory: TemporaryDirectory

    /// A folder with an authority and a certificate, as the APNs sandbox creates them.
    init() throws {
        directory = try TemporaryDirectory()
        _ = try SandboxCertificates(in: directory.path, host: "127.0.0.1", now: Date())
    }

    @Test func theSampleShowsEverySetting() throws {
        let text = try ProjectFiles.text("routerd.yaml")
        let shown = Set(
            text.split(separator: "\n").compactMap { line in
                line.drop { $0 == " " || $0 == "#" }.split(separator: ":", maxSplits: 1).first.map(String.init)
            })
        for (level, names) in ConfigurationLoader.names {
            for name in names { #expect(shown.contains(name), "\(level)/\(name)") }
        }
        let file = try ConfigurationFile(path: "routerd.yaml", text: text)
        let loaded = try DaemonConfiguration.load(file: file)
        let defaults = DaemonConfiguration()
        #expect(
            loaded.registration == defaults.registration && loaded.edge == defaults.edge && loaded.caps == defaults.caps
        )
        #expect(
            loaded.retention == defaults.retention
                && loaded.transport.cachedConnections == defaults.transport.cachedConnections)
    }

    private static let file = """
        listen: 127.0.0.1:1
        database: file.sqlite
        durability: normal
        log: {level: debug}
        http:
          connections: 11
          connectionsPerAddress: 12
          requestSeconds: 13
          bodyBytesPerSecond: 14
          requestsPerSecondPerAddress: 15
        delivery: {slots: 7, slotsPerOrigin: 5, slowSlots: 3, streamSlots: 17, connections: 9, presenceSeconds: 60, certificateAuthorityFile: "@/ca.pem"}
        """
    private static let environment = [
        "ROUTERD_LISTEN": "127.0.0.1:2", "ROUTERD_DATABASE": "environment.sqlite", "ROUTERD_DURABILITY": "full",
        "ROUTERD_LOG_LEVEL": "warning", "ROUTERD_DELIVERY_SLOTS": "8", "ROUTERD_HTTP_CONNECTIONS": "21",
        "ROUTERD_HTTP_CONNECTIONS_PER_ADDRESS": "22", "ROUTERD_HTTP_REQUEST_SECONDS": "23",
        "ROUTERD_HTTP_BODY_BYTES_PER_SECOND": "24", "ROUTERD_HTTP_REQUESTS_PER_SECOND_PER_ADDRESS": "25",
        "ROUTERD_DELIVERY_CERTIFICATE_AUTHORITY_FILE": "@/server.pem",
    ]
    private static let flags = ["listen": "127.0.0.1:3", "database": "flag.sqlite"]

    /// `@` stands for the folder.
    private func load(
        _ text: String?, flags: [String: String] = [:], environment: [String: String] = [:]
    ) throws(ConfigurationFaults) -> DaemonConfiguration {
        let file = try text.map { text throws(ConfigurationFaults) in
            try ConfigurationFile(path: "f", text: text.replacing("@", with: directory.path))
        }
        let environment = environment.mapValues { $0.replacing("@", with: directory.path) }
        return try DaemonConfiguration.load(file: file, flags: flags, environment: environment)
    }

    @Test func withoutAnythingThereAreDefaults() throws {
        let configuration = try load(nil)
        #expect(configuration.listen == ListenAddress(host: "127.0.0.1", port: 8080))
        #expect(configuration.database == "routerd.sqlite")
        #expect(configuration.durability == .full)
        #expect(configuration.caps == DeliveryCaps(slots: 256, perOrigin: 64, slow: 32))
        #expect(configuration.connections == nil && configuration.transport.files == 512 + 4 * 64 * 2)
        #expect(configuration.edge == EdgeSettings())
        #expect(configuration.edge.requestsPerSecondPerAddress == nil)
        #expect(configuration.certificateAuthorityFile == nil)
        #expect(configuration.keys.isEmpty && configuration.rules.isEmpty)
    }

    @Test func theNearestLayerWins() throws {
        let file = try load(Self.file)
        #expect(file.listen.port == 1 && file.database == "file.sqlite")
        var caps = DeliveryCaps(slots: 7, perOrigin: 5, slow: 3)
        caps.streams = 17
        caps.presenceSeconds = 60
        #expect(
            file.durability == .normal && file.caps == caps
                && file.certificateAuthorityFile == directory.file("ca.pem"))
        #expect(file.connections == 9 && file.transport.files == 9 + 4 * 4 * 2)

        let environment = try load(Self.file, environment: Self.environment)
        #expect(environment.listen.port == 2 && environment.database == "environment.sqlite")
        #expect(environment.durability == .full && environment.slots == 8)
        #expect(environment.certificateAuthorityFile == directory.file("server.pem"))
        #expect("\(environment.logLevel)" == "warning")

        let flags = try load(Self.file, flags: Self.flags, environment: Self.environment)
        #expect(flags.listen.port == 3 && flags.database == "flag.sqlite")
        #expect(flags.slots == 8, "the layers behind it still count for the rest")
    }

    @Test func theEdgeIsConfigured() throws {
        func edge(_ base: Int) -> EdgeSettings {
            var edge = EdgeSettings()
            edge.connections = base + 1
            edge.connectionsPerAddress = base + 2
            edge.times.request = .seconds(Int64(base + 3))
            edge.times.bodyBytesPerSecond = base + 4
            edge.requestsPerSecondPerAddress = base + 5
            return edge
        }
        #expect(try load(Self.file).edge == edge(10))
        #expect(try load(Self.file, environment: Self.environment).edge == edge(20))
        for setting in [
            "connections", "connectionsPerAddress", "requestSeconds", "bodyBytesPerSecond",
            "requestsPerSecondPerAddress",
        ] {
            let faults = #expect(throws: ConfigurationFaults.self) { try load("http: {\(setting): 0}") }
            #expect(faults?.faults.map(\.pointer) == ["/http/\(setting)"])
        }
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
                requestsPerSecond: 20
            """
        let key = try #require(try load(text).keys.first)
        let expected = APIKey(
            name: "ci", key: "rk_test", scopes: [.ingest, .sessions],
            application: ApplicationID(unchecked: "com.example.gallery"), requestsPerSecond: 20)
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

    @Test func limitsOfAnApplicationAreReadWithTheirDefaults() throws {
        let text = """
            limits: {sessionsPerApplication: 5, sessionBytesPerApplication: 4096, predicateStepsPerApplication: 7000}
            """
        let limits = RegistrationLimits(sessions: 5, sessionBytes: 4096, predicateSteps: 7000)
        #expect(try load(text).registration == limits)
        #expect(try load(nil).registration == RegistrationLimits())
        #expect(throws: ConfigurationFaults.self) { try load("limits: {predicateStepsPerApplication: 1023}") }
    }

    private static let hour: Int64 = 3_600_000

    static let retentions: [(text: String?, policy: RetentionPolicy)] = [
        (nil, RetentionPolicy(ageMilliseconds: 720 * hour, repeatMilliseconds: 24 * hour)),
        (
            "retention: {days: 7, maxBytes: 1048576, repeatHours: 168}",
            RetentionPolicy(ageMilliseconds: 168 * hour, maximumBytes: 1_048_576, repeatMilliseconds: 168 * hour)
        ),
        (
            "retention: {days: forever, maxBytes: none, repeatHours: 1}",
            RetentionPolicy(repeatMilliseconds: hour)
        ),
    ]

    @Test(arguments: retentions)
    func retentionIsReadWithItsDefaults(_ row: (text: String?, policy: RetentionPolicy)) throws {
        #expect(try load(row.text).retention == row.policy)
    }

    @Test func theEnvironmentSetsRetentionAndIsNamedInItsFaults() throws {
        #expect(
            try load(nil, environment: ["ROUTERD_RETENTION_MAX_BYTES": "2097152"]).retention.maximumBytes == 2_097_152)
        let faults = try #require(
            #expect(throws: ConfigurationFaults.self) {
                try load(nil, environment: ["ROUTERD_RETENTION_REPEAT_HOURS": "0"])
            })
        #expect(faults.faults.map(\.pointer) == ["ROUTERD_RETENTION_REPEAT_HOURS"])
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

    @Test func hashesOfPasscodesCostWhatTheyAreSetTo() throws {
        #expect(try load(nil).passcodeCost == DaemonLimits.passcodeCost)
        let cheap = try load("passcodes: {logRounds: 14}", environment: ["ROUTERD_PASSCODES_PARALLELISM": "4"])
        #expect(cheap.passcodeCost == PasscodeHash.Cost(logRounds: 14, blockSize: 8, parallelism: 4))
        #expect(cheap.warnings.contains { $0.hasPrefix("passcodes: ") })
        let dear = try load("passcodes: {logRounds: 14, parallelism: 5}")
        #expect(dear.warnings.contains { $0.hasPrefix("passcodes: ") } == false)
        #expect(PasscodeHash.Cost(logRounds: 17, blockSize: 8, parallelism: 16).isBearable)
        let faults = #expect(throws: ConfigurationFaults.self) {
            try load("passcodes: {logRounds: 18, parallelism: 0}")
        }
        #expect(faults?.faults.map(\.pointer) == ["/passcodes/logRounds", "/passcodes/parallelism"])
    }

    @Test func passcodeValidatorsAreAListOfTheirOwn() throws {
        let validators = try load(
            """
            passcodeValidators:
              - {id: routerd.passcode.forbidden, passcodes: ["12345678"]}
            """
        ).passcodeValidators
        #expect(validators.map(\.id.text) == ["routerd.passcode.forbidden"])
        let faults = #expect(throws: ConfigurationFaults.self) {
            try load("passcodeValidators: [{id: routerd.rule.state-floor}]")
        }
        #expect(faults?.faults.map(\.pointer) == ["/passcodeValidators/0/id"])
    }
}
