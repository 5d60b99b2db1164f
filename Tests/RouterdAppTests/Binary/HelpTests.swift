import RouterPlugin
import RouterdApp
import Testing

/// What `--help` says is a file, so that a change of it is seen. `RECORD_SNAPSHOTS=1 swift test` writes the files anew.
@Suite("Help", .timeLimit(.minutes(1)))
struct HelpTests {
    @Test(arguments: ["", "serve", "check", "eval", "decide", "send", "explain", "receive"])
    func isAsRecorded(command: String) async throws {
        let ended = try await Program([command, "--help"].filter { !$0.isEmpty }).ended()
        #expect(ended.status == 0 && ended.errors.isEmpty)
        let name = command.isEmpty ? "help" : "help-\(command)"
        #expect(try ProjectFiles.snapshot(name, now: ended.output) == ended.output)
        #expect(ended.output.split(separator: "\n").allSatisfy { $0.count <= 80 })
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
