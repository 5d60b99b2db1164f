import ArgumentParser
import DeliveryCurl
import Foundation
import Glibc
import Logging
import Router
import RouterPlugin
import RouterdApp

/// `routerd plugin`.
struct PluginGroup: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plugin",
        abstract: "Start, check and operate plugins that run in a process of their own or behind a URL.",
        discussion: """
            The plugins that are part of this program are those of "routerd plugins".

            EXAMPLES
              routerd plugin new shift --language python
              routerd plugin check --plugin com.example.rule.shift -- /srv/shift/rule
              routerd plugin list
              routerd plugin enable com.example.rule.shift
            """,
        subcommands: [ListUsedPlugins.self, EnablePlugin.self, NewPlugin.self, CheckPlugin.self])
}

struct ListUsedPlugins: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the plugins that a running daemon uses, with their faults.",
        discussion: """
            EXAMPLES
              routerd plugin list
              routerd plugin list --json
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var table: TableOptions

    func run() async throws {
        let plugins = try await server.list("/v1/plugins", [], of: "plugins")
        guard !server.json else { return }
        let columns = [
            "id", "rung", "version", "state", "calls", "latency.microsecondsP50", "latency.microsecondsP99",
            "lastFault.fault", "lastFault.cause", "quarantinedAt",
        ]
        Table(columns, of: plugins, wide: table.wide).show(nothing: "The daemon uses no plugin.")
    }
}

struct EnablePlugin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable", abstract: "Take a plugin into use again that was put into quarantine.",
        discussion: """
            EXAMPLES
              routerd plugin enable com.example.rule.shift
            """)

    @OptionGroup var server: ServerOptions
    @Argument(help: "The id of the plugin.")
    var plugin: String

    func run() async throws {
        let answer = try await server.send(path: "/v1/plugins/\(encoded(plugin))/enable")
        guard !server.json else { return }
        Console.print("\(plugin): \(answer["state"]?.asString ?? "enabled")")
    }
}

struct CheckPlugin: PluginCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Run the conformance suite against a process, a URL or a rule of this program.",
        discussion: """
            The process is confined as the daemon confines it. The status is 0 if the plugin conforms, and 1 if not.

            EXAMPLES
              routerd plugin check --plugin com.example.rule.shift -- /srv/shift/rule
              routerd plugin check --plugin com.example.shift --url http://127.0.0.1:9100
              routerd plugin check --plugin routerd.rule.state-floor --markdown
            """)

    @Option(help: "The id of the plugin.")
    var plugin: String
    @Option(help: "The URL of a call-out, in place of a command.")
    var url: String?
    @Option(help: "The settings that the plugin receives, as a JSON object.")
    var settings = "{}"
    @Option(help: "The time limit of an answer in milliseconds.")
    var timeout = 1000
    @Option(help: "A path that the process may read, beside the folders of its command; may be repeated.")
    var reads: [String] = []
    @Flag(help: "The process may use the network, as with network: true in the configuration.")
    var network = false
    @Flag(help: "Print JSON.")
    var json = false
    @Flag(help: "Print the verdict for a README.")
    var markdown = false
    @Argument(help: "The program and its arguments, after --.")
    var command: [String] = []

    func validate() throws {
        guard url == nil || command.isEmpty else { throw ValidationError("Name either a command or --url.") }
        guard !network || !command.isEmpty else { throw ValidationError("--network is for a command.") }
        guard !json || !markdown else { throw ValidationError("Name either --json or --markdown.") }
        guard (try? PluginID(plugin)) != nil else { throw ValidationError("--plugin is not the id of a plugin.") }
        guard (try? JSONValue(parsing: Array(settings.utf8)))?.asObject != nil else {
            throw ValidationError("--settings is not a JSON object.")
        }
        guard reads.allSatisfy({ $0.hasPrefix("/") }) else { throw ValidationError("--reads is not an absolute path.") }
        guard (1...30_000).contains(timeout) else { throw ValidationError("--timeout must be from 1 to 30000.") }
    }

    func run(with plugins: PluginSet) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("routerd-check-\(getpid())").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let transport = try transport(plugins, folder)
        let check = PluginCheck(transport, timeoutMilliseconds: timeout)
        let verdict = await check.verdict(on: try PluginID(plugin))
        if json {
            let list = verdict.findings.map { finding -> JSONValue in
                [
                    "law": .string(finding.law), "violation": finding.violation.map { .string($0) } ?? .null,
                    "applicable": .bool(finding.isApplicable),
                ]
            }
            let members: JSONValue = [
                "plugin": .string(plugin), "version": verdict.version.map { .string($0) } ?? .null,
                "conforms": .bool(verdict.conforms), "findings": .array(list),
            ]
            Console.print(indented: members)
        } else if markdown {
            Console.print(verdict.markdown)
        } else {
            for finding in verdict.findings { Console.print("\(finding.law): \(finding.verdict)") }
            Console.print("\(plugin) \(verdict.conforms ? "conforms" : "does not conform")")
        }
        if !verdict.conforms { throw ExitCode(1) }
    }

    private func transport(_ plugins: PluginSet, _ folder: String) throws -> any RuleTransport {
        let id = try PluginID(plugin)
        let settings = try JSONValue(parsing: Array(settings.utf8))
        if let url {
            let callOut = CallOutSettings(url: url)
            let rule = RemoteRule(
                id: id, transport: .callOut(callOut), timeoutMilliseconds: timeout, settings: settings)
            let curl = CurlConfiguration(egress: EgressPolicy(grants: EgressGrant.loopback))
            return CallOutRule(rule, callOut, transport: try CurlTransport(configuration: curl), clock: SteadyClock())
        }
        guard !command.isEmpty else { return try compiled(plugins, settings) }
        var process = ProcessSettings(command: command)
        process.workers = 2
        process.reads = reads
        process.network = network
        for word in command where !word.hasPrefix("/") && FileManager.default.fileExists(atPath: word) {
            Console.error("\(word) is relative; the process runs in a folder of its own. Name \(Self.absolute(word)).")
        }
        if let path = PluginFolder.closedPath(of: process) {
            Console.error("\(path) is closed to other users: with the rights of root, plugins run as the user 65534.")
        }
        let rule = RemoteRule(id: id, transport: .process(process), timeoutMilliseconds: timeout, settings: settings)
        let logger = LogFormat.text.logger(at: json || markdown ? .warning : .info) { Console.error($0) }
        return ProcessRule(
            rule, process, launcher: "/proc/self/exe", folder: try PluginFolder.make(for: id, in: folder),
            reads: PluginFolder.reads(of: process, hiding: []), clock: SteadyClock(), logger: logger)
    }

    private static func absolute(_ path: String) -> String { URL(filePath: path).standardizedFileURL.path }

    private func compiled(_ plugins: PluginSet, _ settings: JSONValue) throws -> any RuleTransport {
        guard let kind = plugins.rules.first(where: { $0.id.text == plugin }), !kind.isRepeatable else {
            let other = plugins.manifests.first { $0.id.text == plugin && $0.kind != .rule }
            if let kind = other?.kind {
                Console.error("\(plugin) is a \(kind.rawValue): a test checks it with \(kind.suite) of RouterTesting.")
            } else {
                Console.error("\(plugin) is no rule of this program: name a command or --url.")
            }
            throw ExitCode(2)
        }
        do throws(PluginConfigurationError) {
            return CompiledRule(try kind.make(settings), version: kind.manifest.version)
        } catch {
            Console.error("--settings\(error.pointer): \(error.message)")
            throw ExitCode(2)
        }
    }
}

extension PluginManifest.Kind {
    /// The conformance suite of the kind.
    fileprivate var suite: String {
        switch self {
        case .source: "PayloadSourceSuite"
        case .rule: "RoutingRuleSuite"
        case .validator: "PasscodeValidatorSuite"
        case .format: "DeliveryFormatSuite"
        case .observer: "SceneObserverSuite"
        }
    }
}
