import Dispatch
import Glibc
import RouterPlugin

/// A plugin's process behind its supervisor, and the pipes to it. Everything happens on one queue; no thread waits for the
/// process, so that nothing is left behind by one that ignores its end.
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
    private let queue: DispatchQueue
    private let input: Int32
    private let lifeline: Int32
    private let output: PipeReader
    private let errors: PipeReader
    /// Waits for room in the pipe; suspended while nothing has to be sent.
    private let room: any DispatchSourceWrite
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
        for end in ours { _ = Glibc.fcntl(end, F_SETFL, O_NONBLOCK) }
        pid = started
        self.queue = queue
        (input, lifeline) = (ours[0], ours[3])
        output = PipeReader(ours[1], on: queue) { bytes in events(bytes.map { .bytes($0) } ?? .ended) }
        errors = PipeReader(ours[2], on: queue, isPausing: true) { bytes in if let bytes { events(.log(bytes)) } }
        room = DispatchSource.makeWriteSource(fileDescriptor: input, queue: queue)
        room.setEventHandler { [weak self] in self?.flush() }
        room.setCancelHandler { [input] in close(input) }
    }

    /// Sends bytes when those before them have been sent.
    func send(_ bytes: [UInt8]) {
        guard !isClosed else { return }
        unsent += bytes
        if !isWaitingForRoom { flush() }
    }

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
        // The supervisor ends at once, and is not waited for here.
        let pid = pid
        DispatchQueue(label: "routerd.plugin.end").async {
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        }
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

/// Takes bytes from a pipe as they come, and nil at the end. The next bytes are taken when the queue has dealt with the last ones.
private final class PipeReader {
    private static let bytesAtOnce = 64 * 1024
    private static let pauseMilliseconds = 10
    private let descriptor: Int32
    private let queue: DispatchQueue
    private let source: any DispatchSourceRead
    private let take: ([UInt8]?) -> Void
    private let isPausing: Bool
    private var pause: (any DispatchSourceTimer)?

    /// - Parameter isPausing: Whether it takes bytes at most a hundred times in a second.
    init(_ descriptor: Int32, on queue: DispatchQueue, isPausing: Bool = false, _ take: @escaping ([UInt8]?) -> Void) {
        (self.descriptor, self.queue, self.isPausing, self.take) = (descriptor, queue, isPausing, take)
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler { [weak self] in self?.read() }
        source.setCancelHandler { close(descriptor) }
        source.resume()
    }

    /// Takes no more; the pipe is closed.
    func cancel() {
        guard !source.isCancelled else { return }
        source.cancel()
        goOn()
    }

    private func read() {
        guard !source.isCancelled else { return }
        var found = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.bytesAtOnce) { buffer, count in
            found = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            count = max(0, found)
        }
        if found > 0 {
            if isPausing { rest() }
            take(bytes)
        } else if found == 0 || (errno != EINTR && errno != EAGAIN) {
            source.cancel()
            take(nil)
        }
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
