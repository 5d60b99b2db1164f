import Dispatch
import Glibc
import RouterPlugin

/// A plugin's process behind its supervisor, and the pipes to it. Everything happens on one queue.
final class ChildProcess {
    enum Event {
        case bytes([UInt8])
        case log([UInt8])
        case ended
    }

    /// The program and arguments that become the supervisor.
    struct Launch: Sendable {
        var executable: String
        var arguments: [String]
        var environment: [String]
    }

    private static let environmentPath = "/usr/local/bin:/usr/bin:/bin"
    private let pid: pid_t
    private let input: Int32
    private let lifeline: Int32
    /// Writes wait here for room in the pipe; the end of the process ends the wait.
    private let writing = DispatchQueue(label: "routerd.plugin.input")
    private var isClosed = false

    static func launch(_ rule: RemoteRule, _ settings: ProcessSettings, by launcher: String, in folder: String)
        -> Launch
    {
        let limits = [
            "\(settings.memoryMebibytes)", "\(settings.processes)", "\(settings.processorSeconds)",
            settings.network ? "network" : "none", folder,
        ]
        return Launch(
            executable: launcher,
            arguments: [launcher, "plugin-child"] + limits + settings.command,
            environment: ["PATH=\(environmentPath)", "HOME=\(folder)", "LANG=C.UTF-8"])
    }

    /// Starts a process; nil if the system has no room for it.
    ///
    /// - Parameter events: Called on the queue.
    init?(_ launch: Launch, on queue: DispatchQueue, events: @escaping @Sendable (Event) -> Void) {
        signal(SIGPIPE, SIG_IGN)
        var pipes: [(read: Int32, write: Int32)] = []
        for _ in 0..<4 {
            var ends: [Int32] = [0, 0]
            guard pipe(&ends) == 0 else {
                for pipe in pipes { close(pipe.read); close(pipe.write) }
                return nil
            }
            for end in ends { _ = Glibc.fcntl(end, F_SETFD, FD_CLOEXEC) }
            pipes.append((ends[0], ends[1]))
        }
        // Standard input, output and error, and the pipe whose end ends the supervisor.
        let theirs = [pipes[0].read, pipes[1].write, pipes[2].write, pipes[3].read]
        let ours = [pipes[0].write, pipes[1].read, pipes[2].read, pipes[3].write]
        let started = Self.spawn(launch, descriptors: theirs)
        for end in theirs { close(end) }
        guard let started else {
            for end in ours { close(end) }
            return nil
        }
        pid = started
        (input, lifeline) = (ours[0], ours[3])
        for (place, descriptor) in [ours[1], ours[2]].enumerated() {
            // Until the process and its descendants have ended, the thread waits for bytes.
            DispatchQueue(label: "routerd.plugin.output").async {
                while let bytes = Self.read(descriptor) {
                    queue.async { events(place == 0 ? .bytes(bytes) : .log(bytes)) }
                }
                close(descriptor)
                if place == 0 { queue.async { events(.ended) } }
            }
        }
    }

    /// Sends bytes when those before them have been sent.
    func send(_ bytes: [UInt8]) {
        guard !isClosed else { return }
        let input = input
        writing.async {
            var sent = 0
            while sent < bytes.count {
                let count = bytes[sent...].withUnsafeBytes { write(input, $0.baseAddress, $0.count) }
                if count > 0 { sent += count } else if errno != EINTR { return }
            }
        }
    }

    /// Ends the process and its descendants.
    func end() {
        guard !isClosed else { return }
        isClosed = true
        close(lifeline)
        let (pid, input) = (pid, input)
        writing.async { close(input) }
        DispatchQueue.global().async {
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        }
    }

    /// The next bytes; nil at the end.
    private static func read(_ descriptor: Int32) -> [UInt8]? {
        while true {
            var found = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: 64 * 1024) { buffer, count in
                found = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                count = max(0, found)
            }
            if found > 0 { return bytes }
            if found == 0 || errno != EINTR { return nil }
        }
    }

    private static func spawn(_ launch: Launch, descriptors: [Int32]) -> pid_t? {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (place, descriptor) in descriptors.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(place))
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var pid: pid_t = 0
        let arguments = launch.arguments.map { strdup($0) } + [nil]
        let environment = launch.environment.map { strdup($0) } + [nil]
        defer { for text in arguments + environment { free(text) } }
        let status = posix_spawn(&pid, launch.executable, &actions, &attributes, arguments, environment)
        return status == 0 ? pid : nil
    }
}
