import Glibc
import HTTPTypes
import RouterPlugin
import Testing

/// What clients and receivers of some sessions do, step by step, and what has to come of it.
///
/// Each step is told to the daemon that runs then. A client whose daemon dies tells the step once more, to the next one.
protocol Story: Sendable {
    static var steps: [StoryStep<Self>] { get }
    /// What no file of the daemon may hold.
    static var secrets: [String] { get }

    /// Whether nobody has been told this step before, so that nothing of it can have been done.
    var isSure: Bool { get set }

    init(_ receiver: Receiver)

    /// Looks at the whole of it, when all has come.
    ///
    /// - Parameter repetitions: How often something may have come twice.
    func check(repetitions: Int)
}

extension Story {
    static var secrets: [String] { [] }
}

struct StoryStep<Teller>: Sendable {
    let name: String
    let tell: @Sendable (inout Teller, any APICaller) async throws -> Void

    init(_ name: String, _ tell: @escaping @Sendable (inout Teller, any APICaller) async throws -> Void) {
        self.name = name
        self.tell = tell
    }
}

/// Tells a story to the real binary, which dies of it.
struct StoryTeller<Teller: Story> {
    /// How many attempts may be under way when a daemon dies: one a lane.
    static var repetitionsOfAKill: Int { 4 }

    let directory: TemporaryDirectory
    private var story: Teller
    private var (program, port): (Program, Int)
    /// Hashes of passcodes cost little: unoptimised code takes ten seconds for one of the usual cost.
    private static var environment: [String: String] {
        ["ROUTERD_PASSCODES_LOG_ROUNDS": "10", "ROUTERD_PASSCODES_PARALLELISM": "1"]
    }

    private init(_ receiver: Receiver, under wrapper: [String]) async throws {
        directory = try TemporaryDirectory()
        story = Teller(receiver)
        (program, port) = try await Self.start(directory, under: wrapper)
    }

    private static func start(
        _ directory: TemporaryDirectory, under wrapper: [String] = []
    ) async throws -> (Program, Int) {
        try await ServedDaemon.start(database: directory.file(), environment: environment, under: wrapper)
    }

    /// Tells all of it, and kills the daemon after each of these steps.
    ///
    /// - Parameter sayingAgain: Whether no client has seen the answers of that step.
    static func tell(killingAfter kills: Range<Int>, sayingAgain: Bool) async throws {
        try await withReceiver { receiver in
            var teller = try await StoryTeller(receiver, under: [])
            for (place, step) in Teller.steps.enumerated() {
                try await teller.tell(step).get()
                guard kills.contains(place) else { continue }
                teller.program.send(SIGKILL)
                try await teller.revive()
                if sayingAgain {
                    teller.story.isSure = false
                    try await teller.tell(step).get()
                    teller.story.isSure = true
                }
            }
            try await teller.end(repetitions: kills.count * repetitionsOfAKill)
        }
    }

    /// Tells all of it to a daemon that strace kills at the nth call of the kernel of that kind.
    ///
    /// - Returns: In which step it was killed; nil if it was not.
    static func tell(killingAt call: String, _ count: Int) async throws -> String? {
        try await withReceiver { receiver in
            let wrapper = Strace.killing(at: call, count)
            guard var teller = try? await StoryTeller(receiver, under: wrapper) else { return "the start" }
            var struck: String?
            for step in Teller.steps {
                guard case .failure(let error) = await teller.tell(step) else { continue }
                guard struck == nil else { throw error }
                struck = step.name
                try await teller.revive()
                teller.story.isSure = false
                try await teller.tell(step).get()
                teller.story.isSure = true
            }
            // How many calls a story takes differs a little, so that the last ones may be those of the end.
            if struck == nil, try await teller.isStruckWhenItEnds() { struck = "the end" }
            try await teller.end(repetitions: struck == nil ? 0 : repetitionsOfAKill)
            return struck
        }
    }

    /// How often the kernel is called in the whole story, by the thread that does so most: strace counts for each.
    static func count(_ calls: [String]) async throws -> [String: Int] {
        try await withReceiver { receiver in
            let directory = try TemporaryDirectory()
            var teller = try await StoryTeller(receiver, under: Strace.listing(calls, in: directory.file("calls")))
            for step in Teller.steps { try await teller.tell(step).get() }
            try await teller.end(repetitions: 0)
            return try Strace.count(calls, of: teller.program.pid, in: { try directory.read("calls") })
        }
    }

    // MARK: Parts

    /// What the story has learnt is kept if the daemon has died.
    private mutating func tell(_ step: StoryStep<Teller>) async -> Result<Void, any Error> {
        do {
            try await step.tell(&story, MortalDaemon(port: port))
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    /// The daemon was killed, and starts anew on what it has left.
    private mutating func revive() async throws {
        let status = try await program.ended().status
        #expect(status == -SIGKILL)
        (program, port) = try await Self.start(directory)
    }

    /// Ends the daemon, and starts it anew; returns whether it was killed instead.
    private mutating func isStruckWhenItEnds() async throws -> Bool {
        program.send(SIGTERM)
        let status = try await program.ended().status
        #expect(status == 0 || status == -SIGKILL)
        (program, port) = try await Self.start(directory)
        return status == -SIGKILL
    }

    private func end(repetitions: Int) async throws {
        program.send(SIGTERM)
        let status = try await program.ended().status
        #expect(status == 0)
        story.check(repetitions: repetitions)
        for secret in Teller.secrets { #expect(try Traces.find(secret, in: directory).isEmpty) }
    }
}

/// A daemon that may die while it is asked: each call has a connection of its own.
private struct MortalDaemon: APICaller {
    let port: Int

    func until(_ holds: () async throws -> Bool) async throws { try await EventSignals.wait(on: port, until: holds) }

    func call(
        _ method: HTTPRequest.Method, _ path: String, bytes: [UInt8]?, headers: [String: String]
    ) async throws -> Answer {
        let body = bytes ?? []
        let fields = headers.map { "\($0.key): \($0.value)\r\n" }.sorted().joined()
        let request = """
            \(method.rawValue) \(path) HTTP/1.1\r
            host: 127.0.0.1:\(port)\r
            connection: close\r
            content-length: \(body.count)\r
            \(fields)\r
            \(String(decoding: body, as: UTF8.self))
            """
        let answers = try await RawConnection.exchange(request, with: port)
        guard let answer = answers.first else { throw ProgramError(reason: "closed without an answer") }
        return Answer(answer)
    }
}
