import ArgumentParser
import RouterdApp

@main
struct Routerd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "routerd",
        abstract: "Brings each notification to the one scene session that can, or better prefers to, show it.",
        version: RouterdVersion.current,
        subcommands: [
            Serve.self, Check.self, Eval.self, Decide.self, Send.self, Explain.self, Receive.self, Bench.self,
        ])
}
