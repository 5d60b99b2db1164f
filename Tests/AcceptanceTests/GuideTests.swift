import Foundation
import HTTPTypes
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// The configurations that docs/PLUGINS.md shows are ones that a daemon takes.
@Suite("The guide for plugins", .longest)
struct GuideTests {
    private static let guide = URL(filePath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "docs/PLUGINS.md")

    /// The blocks of a language, in their order.
    private static func blocks(of language: String) throws -> [String] {
        let text = try String(contentsOf: guide, encoding: .utf8)
        return text.components(separatedBy: "```\(language)\n").dropFirst()
            .map { $0.components(separatedBy: "\n```")[0] }
    }

    /// The rules of a file may stand beside their tests.
    @Test func everyConfigurationIsValid() async throws {
        let directory = try TemporaryDirectory()
        let blocks = try Self.blocks(of: "yaml")
        #expect(blocks.count >= 8)
        for block in blocks {
            let file = try directory.write(block + "\n", to: "routerd.yaml")
            let check = try await Program.run("check", "--config", file)
            #expect(check.status == 0, "\(block)\n\(check.output)\(check.errors)")
            guard block.contains("\ntests:") else { continue }
            let tests = try await Program.run("rules", "test", file)
            #expect(tests.status == 0, "\(block)\n\(tests.output)\(tests.errors)")
        }
    }

    /// A body of a request that the guide shows is one that the daemon takes.
    @Test func everyBodyIsTaken() async throws {
        let bodies = try Self.blocks(of: "json")
        #expect(bodies.count == 1)
        try await withServedDaemon { daemon in
            #expect(try await daemon.call(.put, "/v1/applications/com.example.Gallery", "{}").status == 201)
            for body in bodies {
                let answer = try await daemon.call(.post, "/v1/rules/evaluate", body)
                #expect(answer.status == 200, "\(answer.text)")
            }
        }
    }
}
