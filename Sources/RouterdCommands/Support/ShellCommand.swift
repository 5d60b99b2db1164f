import Dispatch
import Foundation
import Glibc

/// A command of /bin/sh. It ends when the shell does: a process that the shell leaves behind may keep input and output open.
struct ShellCommand: Sendable {
    let text: String
    /// Variables besides those of this process.
    let environment: [String: String]

    /// Runs it with that standard input, on a thread that may block. The status of a shell that a signal ends is 128 and the signal's
    /// number; that of a shell that cannot be started is 127.
    func run(input: [UInt8]) async -> (status: Int32, output: [UInt8]) {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: runBlocking(input)) }
        }
    }

    private func runBlocking(_ input: [UInt8]) -> (status: Int32, output: [UInt8]) {
        let failed: (Int32, [UInt8]) = (127, [])
        var ends: [Int32] = [0, 0]
        // A pipe would end only when the last process has closed it.
        guard let output = Self.unnamedFile() else { return failed }
        defer { close(output) }
        guard pipe(&ends) == 0 else { return failed }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let (reading, writing) = (ends[0], ends[1])
        let pid = spawn(input: reading, output: output)
        close(reading)
        guard let pid else {
            close(writing)
            return failed
        }
        DispatchQueue.global().async {
            var rest = input[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { write(writing, $0.baseAddress, $0.count) }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                rest = rest.dropFirst(count)
            }
            close(writing)
        }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 { guard errno == EINTR else { return failed } }
        let signal = status & 0x7F
        return (signal == 0 ? (status >> 8) & 0xFF : 128 + signal, Self.content(of: output))
    }

    private func spawn(input: Int32, output: Int32) -> pid_t? {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        // This process ignores a signal that commands expect to end them.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigaddset(&signals, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let arguments: [String] = ["/bin/sh", "-c", text]
        var words = arguments.map { strdup($0) } + [nil]
        var settings = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for word in words + settings { free(word) } }
        var pid: pid_t = 0
        return posix_spawn(&pid, "/bin/sh", &actions, &attributes, &words, &settings) == 0 ? pid : nil
    }

    /// The content of a file whose place of writing belongs to other processes too.
    private static func content(of descriptor: Int32) -> [UInt8] {
        var content: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = pread(descriptor, &chunk, chunk.count, content.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return content }
            content += chunk[..<count]
        }
    }

    private static func unnamedFile() -> Int32? {
        var name = Array("\(NSTemporaryDirectory())/routerd-output-XXXXXX".utf8CString)
        let descriptor = mkstemp(&name)
        guard descriptor >= 0 else { return nil }
        unlink(name)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        return descriptor
    }
}
