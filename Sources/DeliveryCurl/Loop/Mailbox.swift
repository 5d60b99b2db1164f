import CCurl
import Glibc
import Router
import Synchronization

/// A request on its way through the transport. Its completion is called exactly once, by its last owner.
struct Transfer: Sendable {
    let id: UInt64
    let request: WebhookRequest
    let completion: @Sendable (TransferResult) -> Void

    func fail(_ failure: TransferFailure) { completion(TransferResult(outcome: .failure(failure))) }
}

/// Mail from other threads to the loop's thread, and the bell that wakes it.
///
///     any thread ── post / cancel / requestStop ──> [ mail ] ── take ──> loop's thread
///                              └─ rings only if the loop sleeps ─> eventfd
///
/// The eventfd is written and closed under the lock, so that no thread can ring a bell that is gone.
final class Mailbox: Sendable {
    /// The mail that the loop takes at once.
    struct Mail {
        var arrivals: [Transfer] = []
        var cancelled: [UInt64] = []
        /// Names that were looked up.
        var found: [(name: String, lookUp: HostLookUp)] = []
        /// When the last running request is cut off, in the monotonic clock's nanoseconds; nil while open.
        var stopDeadline: UInt64?
    }

    private struct State {
        var mail = Mail()
        var isAsleep = false
        var hasEnded = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// Readable when the loop has to wake up.
    let bell: Int32
    private let state = Mutex(State())

    init() throws(CurlSetupError) {
        bell = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard bell >= 0 else { throw CurlSetupError("eventfd", errno: errno) }
    }

    deinit {
        if !state.withLock({ $0.hasEnded }) { Glibc.close(bell) }
    }

    // MARK: Any thread

    /// Leaves a request; false if the loop has ended and will not take it.
    func post(_ transfer: Transfer) -> Bool {
        leave { $0.arrivals.append(transfer) }
    }

    /// Asks to cut off a request, wherever it is.
    func cancel(_ id: UInt64) {
        _ = leave { $0.cancelled.append(id) }
    }

    /// Leaves the resolver's answer for a name. It is dropped after the end.
    func found(_ name: String, _ lookUp: HostLookUp) {
        _ = leave { $0.found.append((name, lookUp)) }
    }

    /// Asks the loop to end by then. A later call can only shorten the time.
    func requestStop(by deadline: UInt64) {
        _ = leave { $0.stopDeadline = min(deadline, $0.stopDeadline ?? deadline) }
    }

    /// Suspends until the loop has given up all it owned.
    func waitForEnd() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.waiters.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    private func leave(_ change: (inout sending Mail) -> Void) -> Bool {
        state.withLock { state in
            guard !state.hasEnded else { return false }
            change(&state.mail)
            if state.isAsleep {
                state.isAsleep = false
                // It can only fail when the counter is full, and then the bell rings already.
                _ = eventfd_write(bell, 1)
            }
            return true
        }
    }

    // MARK: The loop's thread

    /// Takes all mail. The stop deadline stays.
    func take() -> Mail {
        state.withLock { state in
            state.isAsleep = false
            let mail = state.mail
            state.mail = Mail(stopDeadline: mail.stopDeadline)
            return mail
        }
    }

    /// Says that the loop is about to wait; false if there is mail.
    func fallAsleep(knowing deadline: UInt64?) -> Bool {
        state.withLock { state in
            let mail = state.mail
            state.isAsleep =
                mail.arrivals.isEmpty && mail.cancelled.isEmpty && mail.found.isEmpty && mail.stopDeadline == deadline
            return state.isAsleep
        }
    }

    /// Stills the bell.
    func hear() {
        var count: eventfd_t = 0
        _ = eventfd_read(bell, &count)
    }

    /// Closes the mailbox. The caller has to deal with the mail left in it and with the tasks that wait for the end.
    func end() -> (arrivals: [Transfer], waiters: [CheckedContinuation<Void, Never>]) {
        state.withLock { state in
            precondition(!state.hasEnded, "the mailbox was ended twice")
            state.hasEnded = true
            Glibc.close(bell)
            defer { (state.mail, state.waiters) = (Mail(), []) }
            return (state.mail.arrivals, state.waiters)
        }
    }
}
