import Plugins
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// `routerd plugins`: the manifests as text and as JSON.
@Suite("plugins", .longest)
struct PluginCommandTests {
    @Test func everyPluginIsListed() async throws {
        let ended = try await Program.run("plugins")
        #expect(ended.status == 0 && ended.errors.isEmpty)
        let lines = ended.output.split(separator: "\n")
        #expect(lines.first?.hasPrefix("id ") == true)
        #expect(
            lines.dropFirst().map { $0.prefix { $0 != " " } } == BuiltInPlugins.all.manifests.map { $0.id.text[...] })
    }

    @Test func aListIsNarrowedToAKind() async throws {
        let json = try await Program.run("plugins", "--kind", "rule", "--json")
        let value = try JSONValue(parsing: Array(json.output.utf8))
        #expect(value["plugins"] == .array(BuiltInPlugins.all.rules.map(\.manifest.json)))
        let wrong = try await Program.run("plugins", "--kind", "gate")
        #expect(wrong.status == 2 && wrong.errors.contains("source, rule, validator, format, observer"))
    }

    @Test func aPluginIsShownWithItsFields() async throws {
        let ended = try await Program.run("plugins", "show", "routerd.rule.quiet-hours")
        #expect(try ProjectFiles.snapshot("plugins-show", now: ended.output) == ended.output)
        let json = try await Program.run("plugins", "show", "routerd.rule.quiet-hours", "--json")
        #expect(try JSONValue(parsing: Array(json.output.utf8)) == QuietHoursRule.kind.manifest.json)
    }

    @Test func anUnknownPluginIsAFailure() async throws {
        let ended = try await Program.run("plugins", "show", "com.example.rule.none")
        #expect(ended.status == 1 && ended.output.isEmpty)
        #expect(ended.errors.hasPrefix("There is no plugin com.example.rule.none;"))
    }
}
