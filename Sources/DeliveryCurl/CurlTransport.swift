import CCurl
package import Router
import Synchronization

/// Sends webhooks with libcurl.
///
///     CurlTransport ──owns──> Mailbox (lock, bell) <──shared── CurlLoop
///          │                                                      │ lives on the thread alone
///          └──owns──> LoopThread ──its body owns────────────────> ├─ Admission    queue and free slots, pure
///          │                                                      ├─ NameHistory  names that are looked up, pure
///                     (joined, or detached if the last            ├─ CurlMulti    multi handle, epoll, timer
///                      reference goes away on it)                 └─ EasySlot ×n  easy handle, URL, headers, bodies
///
/// | libcurl keeps a pointer to | set by | valid until |
/// |---|---|---|
/// | `CurlMulti` (socket and timer callbacks) | `CurlMulti.init` | `curl_multi_cleanup` has returned |
/// | `EasySlot` (write, name, socket and request callbacks, error buffer) | `EasySlot.init` | `curl_easy_cleanup`, after the handle was removed |
/// | URL, header list, names, request body | `EasySlot.prepare` | `EasySlot.clear`, after the handle was removed |
///
/// Every address goes through the egress guard twice, as a socket is opened and before a request is sent, each time
/// under the policy of the request's own application (`EgressGate`).
///
/// No pointer leads to a single request, and no callback is set that a connection would take along beyond its request.
/// Every function of libcurl that takes one of the handles is called on the loop's thread, and the loop asserts it; a
/// parsed URL (``CurlURL``) is immutable and may be made anywhere.
///
/// A request waits in our queue, where no time limit runs, until a slot is free: libcurl counts the time from when a
/// handle is added. When libcurl's engine fails, not a transfer, all that run fail as ``TransferFailure/Kind/other``
/// and the engine starts afresh. Each completion is called exactly once, without a lock held, on the loop's thread;
/// only after the end, when that thread is gone, on a short-lived one.
package final class CurlTransport: Transport {
    private let mailbox: Mailbox
    private let thread: LoopThread
    private let lastID = Atomic<UInt64>(0)

    /// Makes the transport and starts its thread.
    package convenience init(configuration: CurlConfiguration = CurlConfiguration()) throws(CurlSetupError) {
        try self.init(configuration: configuration, lookUp: HostLookUp.ask)
    }

    /// - Parameter lookUp: Finds a name's addresses. It may block; it is called on threads of their own, a bounded number
    ///   at a time.
    init(
        configuration: CurlConfiguration, lookUp: @escaping @Sendable (String) -> HostLookUp
    ) throws(CurlSetupError) {
        guard CurlProcess.initialisation == CURLE_OK else {
            throw CurlSetupError("curl_global_init returned \(CurlProcess.initialisation.rawValue)")
        }
        if let reason = CurlVersion.current.unsuitable ?? configuration.unsuitable { throw CurlSetupError(reason) }
        let mailbox = try Mailbox()
        let loop = try CurlLoop(configuration: configuration, mailbox: mailbox, lookUp: lookUp)
        self.mailbox = mailbox
        thread = try LoopThread(named: "curl-loop") { loop.run() }
    }

    deinit { close() }

    package func start(_ request: WebhookRequest, completion: @escaping @Sendable (TransferResult) -> Void) {
        post(Transfer(id: newID(), request: request, completion: completion))
    }

    /// Sends a request and waits for its result. Cancelling the task cuts the request off, which then
    /// fails as ``TransferFailure/Kind/other``; the receiver may have got it all the same.
    package func send(_ request: WebhookRequest) async -> TransferResult {
        let id = newID()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                post(Transfer(id: id, request: request) { continuation.resume(returning: $0) })
                // The handler ran before there was anything to cancel.
                if Task.isCancelled { mailbox.cancel(id) }
            }
        } onCancel: {
            mailbox.cancel(id)
        }
    }

    /// Ends the transport. Requests that wait or come from now on fail as ``TransferFailure/Kind/shuttingDown``; those
    /// that run have the grace period to finish and then fail the same way. Returns when the thread has ended.
    package func shutdown(gracePeriodMilliseconds: Int) async {
        let grace = UInt64(min(max(0, gracePeriodMilliseconds), CurlLimits.timeoutMilliseconds))
        mailbox.requestStop(by: MonotonicClock.nanoseconds + grace * 1_000_000)
        await mailbox.waitForEnd()
        // The thread has nothing left to do but return.
        if !thread.isCurrent { thread.join() }
    }

    /// Ends the transport at once and waits for its thread; what runs is cut off. From within a completion it only
    /// asks for the end. May be called more than once.
    package func close() {
        mailbox.requestStop(by: MonotonicClock.nanoseconds)
        if thread.isCurrent { thread.detach() } else { thread.join() }
    }

    private func newID() -> UInt64 { lastID.add(1, ordering: .relaxed).newValue }

    private func post(_ transfer: Transfer) {
        guard !mailbox.post(transfer) else { return }
        // The sender may hold a lock that its completion takes.
        do {
            try LoopThread(named: "curl-refuse") { transfer.fail(.shuttingDown) }.detach()
        } catch {
            transfer.fail(.shuttingDown)
        }
    }
}
