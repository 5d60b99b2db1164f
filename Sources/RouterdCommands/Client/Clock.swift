import ArgumentParser

struct Clock: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Let a daemon trust its clock that is far beyond the newest row.",
        discussion: """
            EXAMPLES
              routerd clock confirm
            """,
        subcommands: [ConfirmClock.self])
}

struct ConfirmClock: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "confirm", abstract: "Confirm that the machine's clock is right.",
        discussion: """
            The daemon then acts on all times that this clock has passed: retention forgets, expirations and leases end. Compare \
            `date` with another clock first.

            EXAMPLES
              routerd clock confirm
              routerd clock confirm --server http://127.0.0.1:8081
            """)

    @OptionGroup var server: ServerOptions

    func run() async throws {
        _ = try await server.send(path: "/v1/clock/confirm")
        if !server.json { Console.print("the clock is trusted") }
    }
}
