import Glibc
import HTTPTypes
import RouterPlugin
import Testing

/// A script of clients and receivers of some sessions, step by step, with the expected results.
///
/// Each step is sent to the daemon that runs at the time. When a daemon dies, its client repeats the step to the next
/// one.
protocol Story: Sendable {
    static var steps: [StoryStep<Self>] { get }
    /// Texts that no file of the daemon may hold.
    static var secrets: [String] { get }

    /// Whether this step has never been sent before, so that no part of it can have been done.
    var isSure: Bool { get set }

    init(_ receiver: Receiver)

    /// Checks the whole story, when all webhooks have arrived.
    ///
    /// - Parameter repetitions: The permitted number of repeated webhooks.
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

/// Runs a story against the real binary, which is killed during it.
struct StoryTeller<Teller: Story> {
    /// The number of attempts that may be under way when a daemon dies: one a lane.
    static var repetitionsOfAKill: Int { 4 }

    let directory: TemporaryDirectory
    private var story: Teller
    private var (program, port): (Program, Int)
    /// A low cost of passcode hashes: unoptimised code takes ten seconds for one of the usual cost.
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

    /// Runs all steps, and kills the daemon after each of the given ones.
    ///
    /// - Parameter sayingAgain: Whether clients repeat the step, as if they had not seen its answers.
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

    /// Runs all steps against a daemon that strace kills at the nth system call of that kind.
    ///
    /// - Returns: The step in which it was killed; nil if it was not.
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
            // The number of calls in a story varies a little, so that the last calls may be those of the end.
            if struck == nil, try await teller.isStruckWhenItEnds() { struck = "the end" }
            try await teller.end(repetitions: struck == nil ? 0 : repetitionsOfAKill)
            return struck
        }
    }

    /// The number of system calls in the whole story, by the thread that makes most of them: strace counts each thread
    /// by itself.
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

    /// The story keeps its state even if the daemon has died.
    private mutating func tell(_ step: StoryStep<Teller>) async -> Result<Void, any Error> {
        do {
            try await step.tell(&story, MortalDaemon(port: port))
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    /// Starts the killed daemon again on its files.
    private mutating func revive() async throws {
        let status = try await program.ended().status
        #expect(status == -SIGKILL)
        (program, port) = try await Self.start(directory)
    }

    /// Ends the daemon, and starts it again; returns whether it was killed instead.
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

/// A daemon that may die during a call: each call has a connection of its own.
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
