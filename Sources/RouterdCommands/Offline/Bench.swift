import ArgumentParser
import RouterPlugin
import RouterdApp
import RouterdBench

struct Bench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure a running daemon, the decision alone, and the parts that a notification cannot do without.",
        discussion: """
            `make measure` runs the parts beside the daemon; docs/PERFORMANCE.md has the figures.

            EXAMPLES
              routerd bench load --rate 500 --seconds 10 --report report.html
              routerd bench decide --sessions sessions.jsonl --subjects subjects.txt
            """,
        subcommands: [Load.self, Decisions.self, Rules.self, Echo.self, Store.self, Post.self])

    struct Echo: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Serve an HTTP endpoint that reads each body and answers 204: the floor of HTTP.",
            discussion: """
                EXAMPLES
                  routerd bench echo --listen 127.0.0.1:9000
                """)

        @Option(help: "Where to listen: HOST:PORT; port 0 picks a free one.")
        var listen = "127.0.0.1:0"

        func run() async throws {
            let address = try ListenAddress(option: "--listen", listen)
            do {
                try await EchoApp(address: address).run { port in
                    Console.error("listening on http://\(address.shown(port: port))")
                }
            } catch {
                guard let failure = ListenFailure(error, at: address) else { throw error }
                Console.error("\(failure)")
                throw ExitCode(1)
            }
        }
    }

    struct Store: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Insert notifications in batches and settle them: the floor of the store.",
            discussion: """
                EXAMPLES
                  routerd bench store --database /tmp/floor.sqlite --count 20000 --batch 64
                """)

        @Option(help: "A database file that does not exist yet.")
        var database: String
        @Option(help: "How many notifications.")
        var count = 20_000
        @Option(help: "How many share a transaction.")
        var batch = 64

        func validate() throws {
            try Bounds.check(count, "--count")
            try Bounds.check(batch, "--batch")
        }

        func run() throws {
            let floor = StoreFloor(database: database, count: count, batch: batch)
            let microseconds = try floor.microsecondsEach()
            Console.print(JSONWriter.object { $0.field("microsecondsEach", microseconds) })
        }
    }

    struct Post: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Post bodies by libcurl, --concurrency of them at once: the floor of delivery.",
            discussion: """
                EXAMPLES
                  routerd bench post --url http://127.0.0.1:9000/ --concurrency 64
                """)

        @Option(help: "Where to post to.")
        var url: String
        @Option(help: "How many requests.")
        var count = 20_000
        @Option(help: "How many at once.")
        var concurrency = 64

        func validate() throws {
            try Bounds.check(count, "--count")
            guard (1...min(count, 4096)).contains(concurrency) else {
                throw ValidationError("--concurrency has to be 1 to 4096, and not more than --count.")
            }
        }

        func run() async throws {
            let floor = PostFloor(url: url, count: count, concurrency: concurrency)
            guard let microseconds = try await floor.microsecondsEach() else { throw ExitCode(1) }
            Console.print(JSONWriter.object { $0.field("microsecondsEach", microseconds) })
        }
    }
}

/// The greatest sizes that a measurement may be asked for.
enum Bounds {
    static func check(_ number: Int, _ option: String) throws {
        guard (1...10_000_000).contains(number) else { throw ValidationError("\(option) has to be 1 to 10000000.") }
    }
}
