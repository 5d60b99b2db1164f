import ArgumentParser
import DeliveryCurl
import Foundation
import Router
import RouterPlugin
import RouterdApp
import StoreSQLite

struct Doctor: PluginCommand {
    static let configuration = CommandConfiguration(
        abstract: "Examine an installation: a sentence about each part, and a cure of each fault.",
        discussion: """
            Looks at the configuration, the database and its disk, the clock, the limit of open files and libcurl, as the user \
            that runs the command; best as the daemon's: sudo -u routerd. If a daemon answers at --server, it is asked for its \
            figures and its endpoints, with which TLS handshakes are made; nothing is sent to them. The status is 1 if there is a \
            fault.

            EXAMPLES
              routerd doctor --config /etc/routerd/routerd.yaml
              sudo -u routerd routerd doctor --config /etc/routerd/routerd.yaml --key rk_…
            """)

    /// Durable writes that are measured.
    private static let syncs = 20
    /// Endpoints that are examined.
    private static let origins = 50

    @Option(help: "A configuration file in YAML or JSON.")
    var config: String?
    @Option(help: "The database file.")
    var database: String?
    @OptionGroup var server: ServerOptions

    func run(with plugins: PluginSet) async throws {
        var findings: [Finding] = []
        let configuration = read(with: plugins, &findings)
        findings += examineDatabase(configuration)
        findings.append(.clock(isSynchronised: Self.isClockSynchronised))
        findings.append(.openFiles(limit: OpenFiles.raiseLimit(), for: configuration))
        findings.append(.curl(.current))
        findings += await examineDaemon(authorities: configuration.certificateAuthorityFile)
        show(findings)
        guard !findings.contains(where: { $0.verdict == .bad }) else { throw ExitCode(1) }
    }

    private func show(_ findings: [Finding]) {
        if server.json {
            let body = JSONWriter.object { object in
                object.array("findings") { list in for finding in findings { list.object { finding.write(to: &$0) } } }
            }
            return Console.print(body)
        }
        let width = findings.map(\.part.count).max() ?? 0
        for finding in findings {
            let verdict = finding.verdict.rawValue.padding(toLength: 8, withPad: " ", startingAt: 0)
            let colour: Terminal.Colour =
                switch finding.verdict {
                case .good: .good
                case .doubtful, .unknown: .pending
                case .bad: .bad
                }
            let part = finding.part.padding(toLength: width, withPad: " ", startingAt: 0)
            Console.print("\(Terminal.paint(verdict, colour)) \(part)  \(finding.sentence)")
            if let cure = finding.cure { Console.print(String(repeating: " ", count: width + 11) + "→ \(cure)") }
        }
    }

    // MARK: - The machine

    /// The configuration that `serve` would use; that of defaults if it has faults.
    private func read(with plugins: PluginSet, _ findings: inout [Finding]) -> DaemonConfiguration {
        let flags = database.map { ["database": $0] } ?? [:]
        do {
            let file = try config.map { path throws(ConfigurationFaults) in try ConfigurationFile(path: path) }
            let loaded = try DaemonConfiguration.load(
                file: file, flags: flags, environment: ProcessInfo.processInfo.environment, plugins: plugins)
            findings.append(Finding("configuration", .good, "\(config ?? "The configuration of defaults") is valid."))
            for warning in loaded.warnings {
                findings.append(
                    Finding("configuration", .doubtful, "\(warning).", cure: "docs/CONFIGURATION.md has the setting."))
            }
            return loaded
        } catch {
            for line in "\(error)".split(separator: "\n") {
                let cure = "routerd check --config FILE shows every fault."
                findings.append(Finding("configuration", .bad, String(line), cure: cure))
            }
            return (try? DaemonConfiguration.load(file: nil, flags: flags, plugins: plugins)) ?? DaemonConfiguration()
        }
    }

    private func examineDatabase(_ configuration: DaemonConfiguration) -> [Finding] {
        let path = configuration.database
        let folder = URL(filePath: path).resolvingSymlinksInPath().deletingLastPathComponent().path
        let syncs = DiskProbe.syncMilliseconds(in: folder, count: Self.syncs)
        return [Self.database(at: path)]
            + Finding.disk(milliseconds: syncs, freeBytes: DiskProbe.freeBytes(in: folder), at: folder)
    }

    private static func database(at path: String) -> Finding {
        guard FileManager.default.fileExists(atPath: path) else {
            return Finding(
                "database", .good, "There is no database at \(path) yet; the daemon begins one at its start.")
        }
        do throws(StoreError) {
            let file = try DatabaseFile(path: path)
            let attributes = try? FileManager.default.attributesOfItem(atPath: file.path)
            let permissions = (attributes?[.posixPermissions] as? NSNumber)?.intValue ?? 0
            guard permissions & 0o077 == 0 else {
                return Finding(
                    "database", .doubtful,
                    "Other users of this machine may read \(path), which holds secrets of endpoints.",
                    cure: "chmod 600 \(path)")
            }
            return Finding("database", .good, "\(path) is a database of this version or an older one.")
        } catch {
            return Finding(
                "database", .bad, "\(error).",
                cure: "Restore a backup, or use the version that wrote it; routerd database check.")
        }
    }

    /// Whether a time service keeps the clock right, as the kernel was told; nil if that cannot be asked.
    private static var isClockSynchronised: Bool? {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/timedatectl")
        process.arguments = ["show", "--property=NTPSynchronized", "--value"]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return nil }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return switch text.trimmingCharacters(in: .whitespacesAndNewlines) {
        case "yes": true
        case "no": false
        default: nil
        }
    }

    // MARK: - The daemon

    private func examineDaemon(authorities: String?) async -> [Finding] {
        let status: (status: Int, body: [UInt8])
        do {
            let client = try server.client()
            defer { client.close() }
            status = try await client.send(.get, "/v1/status", body: [])
        } catch {
            return [
                Finding(
                    "daemon", .unknown, "No daemon answers at \(server.server), so its endpoints are not examined.",
                    cure: "Name a running one: --server URL --key KEY")
            ]
        }
        guard status.status == 200, let value = try? JSONValue(parsing: status.body, limits: .configuration) else {
            return [
                Finding(
                    "daemon", .unknown,
                    "The daemon at \(server.server) answered \(status.status) to a question for its figures.",
                    cure: "Give a key that may read all applications: --key KEY")
            ]
        }
        let version = value["version"]?.asString ?? "unknown"
        let unaccounted = value["notifications"]?["unaccounted"]?.asInt64 ?? 0
        var findings = [
            unaccounted == 0
                ? Finding(
                    "daemon", .good, "The daemon at \(server.server), version \(version), has lost no notification.")
                : Finding(
                    "daemon", .bad, "The daemon at \(server.server) misses \(unaccounted) notifications.",
                    cure: "Keep a copy of the database, and report it.")
        ]
        do { findings += try await examineEndpoints(authorities: authorities) } catch {
            findings.append(Finding("endpoint", .unknown, "The endpoints could not be listed: \(error)."))
        }
        return findings
    }

    private func examineEndpoints(authorities: String?) async throws -> [Finding] {
        var (secure, clear) = (Set<Origin>(), Set<Origin>())
        for url in try await endpoints() {
            guard let place = URLComponents(string: url), let scheme = place.scheme, let host = place.host
            else { continue }
            let isSecure = scheme == "https"
            let origin = Origin(host: host, port: place.port ?? (isSecure ? 443 : 80))
            if isSecure { secure.insert(origin) }
            if !isSecure, !ListenAddress(host: host, port: 0).isLoopback { clear.insert(origin) }
        }
        var findings: [Finding] = []
        for origin in secure.sorted().prefix(Self.origins) {
            let handshake = await TLSProbe.handshake(host: origin.host, port: origin.port, authorities: authorities)
            findings.append(.endpoint("https://\(origin)", handshake, at: SteadyClock().wall))
        }
        if secure.count > Self.origins {
            let rest = secure.count - Self.origins
            findings.append(Finding("endpoint", .unknown, "\(rest) more origins of endpoints are not examined."))
        }
        if let finding = Finding.clearText(clear.sorted().map { "http://\($0)" }) { findings.append(finding) }
        return findings
    }

    /// The URLs of all endpoints that the key may see.
    private func endpoints() async throws -> [String] {
        let client = try server.client()
        defer { client.close() }
        func all(_ path: String, of key: String) async throws -> [JSONValue] {
            var (entries, cursor) = ([JSONValue](), String?.none)
            repeat {
                let query = ServerOptions.query([("limit", "1000"), ("cursor", cursor)])
                let (_, body) = try await client.send(.get, path + query, body: [])
                let page = try JSONValue(parsing: body, limits: JSONLimits(maximumBytes: DaemonLimits.batchBytes))
                entries += page[key]?.asArray ?? []
                cursor = page["cursor"]?.asString
            } while cursor != nil
            return entries
        }
        var urls: [String] = []
        for application in try await all("/v1/applications", of: "applications") {
            urls += [application["delegate"]?["url"]?.asString].compactMap(\.self)
            guard let id = application["id"]?.asString else { continue }
            let sessions = try await all("/v1/applications/\(encoded(id))/sessions", of: "sessions")
            urls += sessions.compactMap { $0["endpoint"]?["url"]?.asString }
        }
        return urls
    }

    private struct Origin: Hashable, Comparable, CustomStringConvertible {
        let host: String
        let port: Int

        var description: String { "\(host):\(port)" }

        static func < (left: Origin, right: Origin) -> Bool { (left.host, left.port) < (right.host, right.port) }
    }
}
