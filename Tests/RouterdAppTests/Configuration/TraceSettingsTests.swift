import Glibc
import Router
import RouterdApp
import Testing

@testable import DaemonTesting

@Suite("Settings of traces")
struct TraceSettingsTests {
    private static func load(_ text: String) throws -> DaemonConfiguration {
        try DaemonConfiguration.load(file: ConfigurationFile(path: "routerd.yaml", text: text))
    }

    @Test("Spans are off without a collector")
    func off() throws {
        #expect(try Self.load("").traces == nil)
        #expect(try Self.load("traces: {service: a}").traces == nil)
    }

    @Test("Headers come from a file, a line each, and are not shown")
    func headers() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("# a comment\nAuthorization: Bearer canary\n\n x-team:\tblue \n", to: "headers")
        chmod(file, 0o600)
        let url = "https://collector.example/v1/traces"
        let configuration = try Self.load("traces: {collector: '\(url)', headersFile: '\(file)', percent: 10}")
        let settings = try #require(configuration.traces)
        #expect(settings.collector == url && settings.percent == 10 && settings.service == "routerd")
        #expect(settings.headers.map { "\($0.name)=\($0.value)" } == ["authorization=Bearer canary", "x-team=blue"])
        #expect(!configuration.warnings.contains { $0.hasPrefix("traces.headersFile") })
        var shown = "\(settings) \(String(reflecting: settings))"
        dump(settings, to: &shown)
        #expect(!shown.contains("canary"), "\(shown)")
        chmod(file, 0o644)
        let open = try Self.load("traces: {collector: '\(url)', headersFile: '\(file)'}")
        #expect(open.warnings.contains { $0.hasPrefix("traces.headersFile") })
    }

    @Test(
        "Values that cannot be used are refused",
        arguments: [
            "collector: nowhere", "collector: 'http://a'", "collector: 'ftp://a/v1/traces'",
            "collector: 'http://user:secret@a/v1/traces'", "collector: 'http://a/v1 traces'",
            "{collector: 'http://a/v1/traces', percent: 101}", "{collector: 'http://a/v1/traces', service: ''}",
            "{collector: 'http://a/v1/traces', headersFile: /nowhere}", "{other: 1}",
        ])
    func faults(_ text: String) throws {
        let mapping = text.hasPrefix("{") ? text : "{\(text)}"
        #expect(throws: ConfigurationFaults.self) { try Self.load("traces: \(mapping)") }
    }

    @Test("A fault in the file names its line and not its content", arguments: ["canary", "a b: canary", ": canary"])
    func faultsOfTheFile(_ line: String) throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("x-team: blue\n\(line)\n", to: "headers")
        do {
            _ = try Self.load("traces: {collector: 'http://a/v1/traces', headersFile: '\(file)'}")
            Issue.record("the file was read")
        } catch {
            #expect("\(error)".contains("line 2") && !"\(error)".contains("canary"), "\(error)")
        }
    }
}
