import RouterPlugin
import RouterdApp
import TestSupport
import Testing

@testable import DaemonTesting

/// The output of `--help` is a file, so that a change of it is seen. `RECORD_SNAPSHOTS=1 swift test` writes the files
/// again.
@Suite("Help", .longest)
struct HelpTests {
    @Test(arguments: [
        "", "serve", "check", "doctor", "rules", "rules test", "rules diff", "rules put", "rules show", "rules reset",
        "plugins", "plugins list", "plugins show", "plugin", "plugin list",
        "plugin enable", "plugin new", "plugin check", "eval", "decide", "send", "explain",
        "sessions", "sessions list", "sessions activate",
        "sessions discard", "gates", "gates list", "gates show", "gates passcode", "gates check-passcode",
        "gates reset", "tail", "receive", "applications", "applications put", "sessions put", "sessions rotate-secret",
        "notifications", "notifications list", "notifications show", "lanes", "lanes list", "lanes resume", "replays",
        "replays start", "apply", "diff", "export", "source", "source put", "source test", "sessions test", "status",
        "clock",
        "clock confirm",
        "keys", "keys new", "bench load", "database", "database init", "database check",
        "database backup", "database vacuum", "bench", "bench decide", "bench rules", "bench echo",
        "bench store",
        "bench post", "apns-sandbox", "attach",
    ])
    func isAsRecorded(command: String) async throws {
        let words = command.split(separator: " ").map(String.init)
        let ended = try await Program(words + ["--help"]).ended()
        #expect(ended.status == 0 && ended.errors.isEmpty)
        let name = (["help"] + words).joined(separator: "-")
        #expect(try ProjectFiles.snapshot(name, now: ended.output) == ended.output)
    }

    /// Follows the subcommands from the first help to the last one.
    @Test func everyHelpHasExamples() async throws {
        var waiting: [[String]] = [[]]
        var seen = 0
        while let words = waiting.popLast() {
            let ended = try await Program(words + ["--help"]).ended()
            let examples = ended.output.split(separator: "\n").drop { !$0.hasSuffix("EXAMPLES") }.dropFirst()
            let first = try #require(examples.first, "routerd \(words.joined(separator: " ")) has no EXAMPLES")
            #expect(first.contains("routerd"), "\(first)")
            // An example that goes on in the next line could not be pasted.
            let lines = ended.output.split(separator: "\n", omittingEmptySubsequences: false)
                .drop { !$0.hasSuffix("EXAMPLES") }.dropFirst().prefix { !$0.isEmpty }
            #expect(lines.allSatisfy { $0.hasPrefix("  ") }, "\(lines)")
            seen += 1
            let list = ended.output.split(separator: "\n").drop { !$0.hasPrefix("SUBCOMMANDS:") }.dropFirst()
                .prefix { !$0.hasPrefix("  See ") }
            for line in list where line.hasPrefix("  ") && !line.hasPrefix("   ") {
                let name = try #require(line.split(separator: " ").first)
                waiting.append(words + [String(name)])
            }
        }
        #expect(seen > 50, "\(seen) helps")
    }

    @Test func versionIsTold() async throws {
        let ended = try await Program.run("--version")
        #expect(ended.status == 0 && ended.output == "\(RouterdVersion.current)\n")
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func completionsAreMade(shell: String) async throws {
        let ended = try await Program.run("--generate-completion-script", shell)
        #expect(ended.status == 0 && ended.output.contains("routerd"))
    }
}
