import Dispatch
import Glibc
import RouterPlugin

/// A plugin's process behind its supervisor, and the pipes to it. Everything happens on one queue, but for a thread that waits
/// for the end of the supervisor, which no plugin can ignore.
final class ChildProcess {
    enum Event {
        case bytes([UInt8])
        case log([UInt8])
        /// The status is 128 and the signal for a process that a signal has ended.
        case ended(status: UInt8)
    }

    /// The program and arguments that become the supervisor.
    struct Launch: Sendable {
        var executable: String
        var arguments: [String]
        var environment: [String]
    }

    private static let environmentPath = "/usr/local/bin:/usr/bin:/bin"
    private let queue: DispatchQueue
    private let input: Int32
    private let lifeline: Int32
    private let output: PipeReader
    private let errors: PipeReader
    /// Waits for room in the pipe; suspended while nothing has to be sent.
    private let room: any DispatchSourceWrite
    /// Takes a byte when the supervisor has ended.
    private let ending: PipeReader
    private var isWaitingForRoom = false
    private var unsent: [UInt8] = []
    private var isClosed = false

    /// - Parameter reads: The paths that the plugin may read, beside those of the system's programs.
    static func launch(_ settings: ProcessSettings, reading reads: [String], by launcher: String, in folder: String)
        -> Launch
    {
        let limits = [
            "\(settings.memoryMebibytes)", "\(settings.processes)", "\(settings.processorSeconds)",
            settings.network ? "network" : "none", folder, "\(reads.count)",
        ]
        return Launch(
            executable: launcher,
            arguments: [launcher, "plugin-child"] + limits + reads + settings.command,
            environment: ["PATH=\(environmentPath)", "HOME=\(folder)", "LANG=C.UTF-8"])
    }

    /// Starts a process; nil if the system has no room for it.
    ///
    /// - Parameter events: Called on the queue.
    init?(_ launch: Launch, on queue: DispatchQueue, events: @escaping @Sendable (Event) -> Void) {
        signal(SIGPIPE, SIG_IGN)
        var pipes: [(read: Int32, write: Int32)] = []
        for _ in 0..<5 {
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
        // The thread that waits has a descriptor of its own for the pipe by which it tells the end: neither side closes that of
        // the other.
        let ended = pipes[4]
        let told = Glibc.fcntl(ended.write, F_DUPFD_CLOEXEC, 0)
        let started = told < 0 ? nil : Self.spawn(launch, descriptors: theirs)
        for end in [theirs[0], theirs[3]] { close(end) }
        guard let started else {
            for end in ours + [theirs[1], theirs[2], ended.read, ended.write, told] { close(end) }
            return nil
        }
        for end in ours + [ended.read] { _ = Glibc.fcntl(end, F_SETFL, O_NONBLOCK) }
        self.queue = queue
        (input, lifeline) = (ours[0], ours[3])
        output = PipeReader(ours[1], theirs[1], on: queue) { events(.bytes($0)) }
        errors = PipeReader(ours[2], theirs[2], on: queue, isPausing: true) { events(.log($0)) }
        ending = PipeReader(ended.read, ended.write, on: queue) { [output, errors] status in
            output.finish()
            errors.finish()
            events(.ended(status: status.first ?? 0))
        }
        room = DispatchSource.makeWriteSource(fileDescriptor: input, queue: queue)
        room.setEventHandler { [weak self] in self?.flush() }
        room.setCancelHandler { [input] in close(input) }
        Self.wait(for: started, then: told)
    }

    /// Waits for the end of a supervisor on a thread, and tells it by a byte.
    private static func wait(for pid: pid_t, then told: Int32) {
        DispatchQueue(label: "routerd.plugin.end").async {
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0, errno == EINTR {}
            let signal = status & 0x7F
            _ = write(told, [UInt8(truncatingIfNeeded: signal == 0 ? status >> 8 : 128 + signal)], 1)
            close(told)
        }
    }

    /// The end of a process in words.
    static func cause(ofStatus status: UInt8) -> String {
        guard status > 128 else { return "exit status \(status)" }
        let signal = Int32(status) - 128
        return signal == SIGXCPU ? "the limit processorSeconds" : "signal \(signal)"
    }

    /// Sends bytes when those before them have been sent.
    func send(_ bytes: [UInt8]) {
        guard !isClosed else { return }
        unsent += bytes
        if !isWaitingForRoom { flush() }
    }

    /// Takes the bytes of standard error that have come, at most as many as a pipe holds.
    func readErrors() { errors.takeRest() }

    /// Ends the process and its descendants.
    func end() {
        guard !isClosed else { return }
        isClosed = true
        unsent = []
        close(lifeline)
        output.cancel()
        errors.cancel()
        room.cancel()
        if !isWaitingForRoom { room.resume() }
        ending.cancel()
    }

    private func flush() {
        guard !isClosed else { return }
        var sent = 0
        while sent < unsent.count {
            let count = unsent[sent...].withUnsafeBytes { write(input, $0.baseAddress, $0.count) }
            if count > 0 {
                sent += count
            } else if errno == EAGAIN {
                break
            } else if errno != EINTR {
                sent = unsent.count
            }
        }
        unsent.removeFirst(sent)
        guard unsent.isEmpty == isWaitingForRoom else { return }
        isWaitingForRoom.toggle()
        if isWaitingForRoom { room.resume() } else { room.suspend() }
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

/// Takes bytes from a pipe as they come. The next bytes are taken when the queue has dealt with the last ones.
///
/// The reader keeps the other end of its pipe open as long as its source watches the pipe, so that the source never sees a
/// hang-up: libdispatch unregisters a source that has hung up on the source's queue while its own thread may still walk the
/// sources of the descriptor (`_dispatch_event_merge_fd` in event_epoll.c), and the process ends by a bad pointer.
private final class PipeReader {
    private static let bytesAtOnce = 64 * 1024
    private static let pauseMilliseconds = 10
    /// A pipe holds 64 KiB unless it was made larger.
    private static let readsAtEnd = 16
    private let descriptor: Int32
    private let queue: DispatchQueue
    private let source: any DispatchSourceRead
    private let take: ([UInt8]) -> Void
    private let isPausing: Bool
    private var pause: (any DispatchSourceTimer)?

    /// - Parameter isPausing: Whether it takes bytes at most a hundred times in a second.
    init(
        _ descriptor: Int32, _ other: Int32, on queue: DispatchQueue, isPausing: Bool = false,
        _ take: @escaping ([UInt8]) -> Void
    ) {
        (self.descriptor, self.queue, self.isPausing, self.take) = (descriptor, queue, isPausing, take)
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler { [weak self] in self?.read() }
        source.setCancelHandler {
            close(descriptor); close(other)
        }
        source.resume()
    }

    /// Takes the rest of the bytes, at most as many as a pipe holds, and no more after them.
    func finish() {
        takeRest()
        cancel()
    }

    /// Takes the bytes that are there, at most as many as a pipe holds.
    func takeRest() {
        guard !source.isCancelled else { return }
        for _ in 0..<Self.readsAtEnd {
            guard let bytes = next() else { break }
            take(bytes)
        }
    }

    /// Takes no more; the pipe is closed.
    func cancel() {
        guard !source.isCancelled else { return }
        source.cancel()
        goOn()
    }

    private func read() {
        guard !source.isCancelled, let bytes = next() else { return }
        if isPausing { rest() }
        take(bytes)
    }

    /// The next bytes; nil if there are none.
    private func next() -> [UInt8]? {
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.bytesAtOnce) { buffer, count in
            count = max(0, Glibc.read(descriptor, buffer.baseAddress, buffer.count))
        }
        return bytes.isEmpty ? nil : bytes
    }

    private func rest() {
        source.suspend()
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now() + .milliseconds(Self.pauseMilliseconds))
        timer.setEventHandler { [weak self] in self?.goOn() }
        timer.resume()
        pause = timer
    }

    /// A suspended source would not be released.
    private func goOn() {
        guard let timer = pause else { return }
        timer.cancel()
        pause = nil
        source.resume()
    }

    deinit { cancel() }
}
