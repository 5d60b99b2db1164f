import ArgumentParser
import Glibc
import RouterdApp

@main
struct Routerd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "routerd",
        abstract: "Brings each notification to the one scene session that can, or better prefers to, show it.",
        version: RouterdVersion.current,
        subcommands: [
            Serve.self, Check.self, Eval.self, Decide.self, Send.self, Explain.self, Sessions.self, Gates.self,
            Tail.self,
            Receive.self,
            Database.self, Bench.self,
        ])

    /// As the framework's own, but for wrong use, which ends with status 2 as everywhere else and not with 64.
    static func main() async {
        do {
            var command = try await asyncParseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            guard exitCode(for: error) == .validationFailure else { exit(withError: error) }
            Console.error(fullMessage(for: error))
            Glibc.exit(2)
        }
    }
}
