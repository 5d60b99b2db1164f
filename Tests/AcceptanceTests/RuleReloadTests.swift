import Foundation
import HTTPTypes
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// Rules in processes of a running daemon are changed without a restart, or not at all.
@Suite("reload of process rules", .longest)
struct RuleReloadTests {
    private static let hasPython = access("/usr/bin/python3", X_OK) == 0
    private static let program = URL(filePath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Sources/RouterdCommands/Plugins/Projects/python/rule.py").path

    /// A configuration whose rule keeps notifications away from sessions of a role.
    private static func configuration(shielding role: String, _ command: String? = nil) -> String {
        """
        rules:
          - id: routerd.rule.process
            plugin: com.example.rule.shielded-roles
            command: \(command ?? "[/usr/bin/python3, \(program)]")
            timeoutMilliseconds: 20000
            settings: {roles: [\(role)]}
        """
    }

    @Test(.enabled(if: hasPython, "the machine has no Python"))
    func aHangUpChangesARuleInAProcess() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("routerd.yaml")
        @Sendable func write(_ text: String) throws { try text.write(toFile: file, atomically: true, encoding: .utf8) }
        try write(Self.configuration(shielding: "kiosk"))
        try await withServedDaemon(["--config", file], database: directory.file()) { daemon in
            try await daemon.putGallery()
            for (id, role) in [("a", "kiosk"), ("b", "desk")] {
                let body = #"{"role":"\#(role)","endpoint":{"url":"http://127.0.0.1:9/x"}}"#
                #expect(try await daemon.call(.put, "\(TestDaemon.gallery)/sessions/\(id)", body).status == 201)
            }
            func decision() async throws -> [JSONValue] {
                let answer = try await daemon.post(about: "photo/1")
                let stored = try await daemon.notification(answer.id)
                return [stored["decision", "rulesVersion"], stored["decision", "session"]]
            }
            #expect(try await decision() == [1, "b"])
            try write(Self.configuration(shielding: "desk"))
            daemon.program.send(SIGHUP)
            _ = try await daemon.program.line(beginning: "", containing: "the rules are in use")
            #expect(try await decision() == [2, "a"])
            // A program that does not become ready changes nothing, and the log has the cause.
            try write(Self.configuration(shielding: "kiosk", "[/bin/sh, -c, 'exit 7']"))
            daemon.program.send(SIGHUP)
            let line = try await daemon.program.line(beginning: "", containing: "a plugin is not ready")
            #expect(line.contains("exit status 7"), "\(line)")
            #expect(try await decision() == [2, "a"])
            // Requests use the programs of the configuration, with other settings and in another order.
            try write(Self.configuration(shielding: "desk"))
            let put = try await daemon.call(.put, "/v1/rules", Self.configuration(shielding: "kiosk"))
            #expect(put.status == 200, "\(put.text)")
            #expect(try await decision() == [3, "b"])
            let other = Self.configuration(shielding: "kiosk", "[/bin/sh, -c, 'exit 7']")
            #expect(try await daemon.call(.put, "/v1/rules", other)["code"] == "programs-of-configuration")
            #expect(try await decision() == [3, "b"])
        }
    }
}
