import CCurl
import Glibc
import Synchronization

/// A thread of our own: libcurl's loop blocks in `epoll_wait`, which would starve a pool that others share.
final class LoopThread: Sendable {
    /// Carries the body into the thread, which releases it.
    private final class Start {
        let name: String
        let body: () -> Void

        init(_ name: String, _ body: @escaping () -> Void) {
            self.name = name
            self.body = body
        }
    }

    private let id: pthread_t
    private let isLetGo = Mutex(false)

    init(named name: String, _ body: sending @escaping () -> Void) throws(CurlSetupError) {
        let start = Unmanaged.passRetained(Start(name, body))
        var id = pthread_t()
        let code = pthread_create(&id, nil, Self.main, start.toOpaque())
        guard code == 0 else {
            start.release()
            throw CurlSetupError("pthread_create", errno: code)
        }
        self.id = id
    }

    deinit { precondition(isLetGo.withLock { $0 }, "a thread was neither joined nor detached") }

    var isCurrent: Bool { pthread_equal(pthread_self(), id) != 0 }

    /// Waits for the thread's end; a second caller waits too. Not for the thread itself.
    func join() {
        precondition(!isCurrent, "a thread cannot wait for its own end")
        isLetGo.withLock { isLetGo in
            guard !isLetGo else { return }
            pthread_join(id, nil)
            isLetGo = true
        }
    }

    /// Lets the thread end on its own.
    func detach() {
        isLetGo.withLock { isLetGo in
            guard !isLetGo else { return }
            pthread_detach(id)
            isLetGo = true
        }
    }

    private static let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
        guard let context else { preconditionFailure("a thread was started without its body") }
        let start = Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
        // CURLOPT_NOSIGNAL keeps libcurl from ignoring SIGPIPE around its writes, and the process may not ignore it.
        // Blocked here, the signal goes nowhere: it is always sent to the thread that wrote.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        ccurl_name_thread(start.name)
        start.body()
        return nil
    }
}
