import Dispatch
import Foundation
import Glibc
import Synchronization

/// The real binary, run as a separate process.
final class Program: Sendable {
    /// The result of the process.
    struct Ended: Sendable {
        /// The exit status; if a signal ended the process, the negative number of the signal.
        let status: Int32
        let output: String
        let errors: String
    }

    let pid: pid_t
    private let texts = Mutex((output: [UInt8](), errors: [UInt8]()))
    private let heard = Tally()
    private let closed = Tally()
    private let exit = Mutex<Int32?>(nil)
    private let exited = Tally()

    /// The binary under test: that of the variable `ROUTERD`, or the release build.
    static var path: String {
        get throws {
            let release = ProjectFiles.root.appending(path: ".build/release/routerd").path
            let path = ProcessInfo.processInfo.environment["ROUTERD"] ?? release
            guard access(path, X_OK) == 0 else {
                throw ProgramError(reason: "no binary at \(path); `make release` builds it")
            }
            return path
        }
    }

    /// Held from the creation of pipes to the end of the spawn: a child of another test must not inherit their ends.
    private static let spawning = Mutex(())

    /// Starts the binary; `input` is the content of its standard input.
    ///
    /// - Parameter wrapper: A program that becomes the binary, and its arguments.
    convenience init(
        _ arguments: [String], input: String = "", environment: [String: String] = [:], under wrapper: [String] = []
    ) throws {
        let words = wrapper + [try Self.path] + arguments
        let child = try Self.spawning.withLock { _ in try Self.spawn(words, input, environment) }
        self.init(child)
    }

    private struct Child: Sendable {
        let pid: pid_t
        let output: Int32
        let errors: Int32
    }

    private init(_ child: Child) {
        pid = child.pid
        read(child.output) { $0.output += $1 }
        read(child.errors) { $0.errors += $1 }
        waitForExit()
    }

    private static func spawn(
        _ command: [String], _ input: String, _ environment: [String: String]
    ) throws -> Child {
        let source = try Self.file(holding: input)
        let (output, errors) = (try Self.pipe(), try Self.pipe())
        defer { for descriptor in [source, output.writing, errors.writing] { Glibc.close(descriptor) } }

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, source, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output.writing, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, errors.writing, STDERR_FILENO)
        // Other tests have sockets open. A connection inherited by a child does not end when they close it.
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
        for descriptor in open where descriptor > STDERR_FILENO {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
        // This process may ignore signals that the child must receive.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        for signal in [SIGTERM, SIGINT, SIGHUP, SIGPIPE] { sigaddset(&signals, signal) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))

        var variables = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("ROUTERD_") }
        variables["COLUMNS"] = "80"
        variables.merge(environment) { $1 }
        var words = command.map { strdup($0) } + [nil]
        var settings = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for word in words + settings { free(word) } }
        var pid: pid_t = 0
        let code = posix_spawnp(&pid, command[0], &actions, &attributes, &words, &settings)
        guard code == 0 else { throw ProgramError(reason: String(cString: strerror(code))) }
        return Child(pid: pid, output: output.reading, errors: errors.reading)
    }

    /// Runs the binary to its end.
    static func run(
        _ arguments: String..., input: String = "", environment: [String: String] = [:]
    ) async throws -> Ended {
        try await Program(arguments, input: input, environment: environment).ended()
    }

    /// Suspends until it has ended and all its output is read.
    func ended() async throws -> Ended {
        try await exited.reached(1)
        try await closed.reached(2)
        let (output, errors) = texts.withLock { $0 }
        return Ended(
            status: exit.withLock { $0 } ?? 0, output: String(decoding: output, as: UTF8.self),
            errors: String(decoding: errors, as: UTF8.self))
    }

    /// Suspends until it has written a line with that beginning to either output; returns the rest of the line.
    func line(beginning: String, containing part: String = "") async throws -> String {
        while true {
            let seen = heard.count
            let (output, errors) = texts.withLock { $0 }
            let isOver = closed.count == 2
            for bytes in [output, errors] {
                let lines = String(decoding: bytes, as: UTF8.self).split(
                    separator: "\n", omittingEmptySubsequences: false)
                // The last line is not complete yet.
                if let line = lines.dropLast().first(where: {
                    $0.hasPrefix(beginning) && (part.isEmpty || $0.contains(part))
                }) {
                    return String(line.dropFirst(beginning.count))
                }
            }
            if isOver { throw ProgramError(reason: "it ended: \(String(decoding: errors, as: UTF8.self))") }
            try await heard.reached(seen + 1)
        }
    }

    /// Sends a signal to the process, unless it has ended: its pid might be reused by then.
    func send(_ signal: Int32) {
        exit.withLock { if $0 == nil { kill(pid, signal) } }
    }

    private func read(
        _ descriptor: Int32,
        into append: @escaping @Sendable (inout (output: [UInt8], errors: [UInt8]), ArraySlice<UInt8>) -> Void
    ) {
        DispatchQueue(label: "program.read").async {
            var chunk = [UInt8](repeating: 0, count: 1 << 16)
            while true {
                let count = Glibc.read(descriptor, &chunk, chunk.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                self.texts.withLock { append(&$0, chunk[..<count]) }
                self.heard.add()
            }
            Glibc.close(descriptor)
            self.closed.add()
            self.heard.add()
        }
    }

    private func waitForExit() {
        DispatchQueue(label: "program.wait").async {
            // The pid stays taken until it is waited for, so the lock prevents signals to other processes.
            var info = siginfo_t()
            while waitid(P_PID, id_t(self.pid), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
            self.exit.withLock { exit in
                var status: Int32 = 0
                waitpid(self.pid, &status, 0)
                exit = status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
            }
            self.exited.add()
        }
    }

    private static func pipe() throws -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [0, 0]
        guard Glibc.pipe(&ends) == 0 else { throw ProgramError(reason: String(cString: strerror(errno))) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    /// A file without a name that holds the text, at its beginning.
    private static func file(holding text: String) throws -> Int32 {
        var name = Array("/tmp/routerd-input-XXXXXX".utf8CString)
        let descriptor = mkstemp(&name)
        guard descriptor >= 0 else { throw ProgramError(reason: String(cString: strerror(errno))) }
        unlink(name)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw ProgramError(reason: String(cString: strerror(errno))) }
            rest = rest.dropFirst(count)
        }
        lseek(descriptor, 0, SEEK_SET)
        return descriptor
    }
}

struct ProgramError: Error { let reason: String }
