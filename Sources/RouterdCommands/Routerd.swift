import ArgumentParser
import RouterdApp

/// The root of the command line.
struct Routerd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "routerd",
        abstract: "Brings each notification to the one scene session that can, or better prefers to, show it.",
        discussion: """
            Clients of a running daemon take ROUTERD_SERVER, ROUTERD_KEY and ROUTERD_APPLICATION from the environment. The status is
            0, 1 for a failure, and 2 for wrong use. Completions: routerd --generate-completion-script bash (or zsh, fish).

            EXAMPLES
              routerd serve --config routerd.yaml
              routerd applications put com.example.Gallery '{"displayName": "Gallery"}'
              routerd send --content-id gallery://photo/7 --alert "New comment"
            """,
        version: RouterdVersion.current,
        subcommands: [
            Serve.self, Check.self, Doctor.self, RulesGroup.self, PluginCommands.self, PluginGroup.self, Keys.self,
            Database.self,
            Receive.self, Sandbox.self,
            Apply.self, Diff.self, Export.self,
            Applications.self, Sessions.self, SourceCommands.self, Send.self, Explain.self, Notifications.self,
            Lanes.self, Replays.self,
            Gates.self, Status.self, Clock.self, Tail.self, Attach.self,
            Eval.self, Decide.self, Bench.self,
        ])
}
