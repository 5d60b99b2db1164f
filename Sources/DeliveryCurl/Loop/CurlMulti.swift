import CCurl
import Glibc

/// libcurl's multi handle, the sockets and the timer that it asks to be watched.
///
///     Swift                                        │ libcurl
///     CurlLoop ══▶ CurlMulti ══════════════════════╪═▶ multi handle ─▶ easy handles (only while added)
///                    ▲  ▲ ║                        │     │    ║
///                    │  └─╫── socket, timer ───────┼─────┘    ╚══▶ connections      ═▶ owns, and frees
///                    │    ╚══▶ Poller (epoll)      │                   │            ─▶ points to, unretained
///                    └───── closing of sockets ────┼───────────────────┘
///
/// | libcurl's pointer to this object | set by | valid until |
/// |---|---|---|
/// | of the multi handle: socket and timer callbacks | `init` | `curl_multi_cleanup` in `close()` has returned |
/// | of a connection, copied from its easy handle: closing | `watchClosing(of:)` | the same, at the latest |
///
/// libcurl calls back on the owner's thread, from within the calls made here and from no other place; each callback
/// asserts it before it touches the state. A callback only notes libcurl's wish: libcurl must not be called from within
/// one.
final class CurlMulti {
    private let handle: UnsafeMutableRawPointer
    private var poller: Poller
    /// When libcurl wants to be called without a socket being ready, in the monotonic clock's nanoseconds.
    private(set) var deadline: UInt64?
    private var isClosed = false
    /// The thread that calls libcurl; nil until the loop has begun.
    private var owner: pthread_t?
    /// Connections that are not given to requests any more.
    let silent = SilentConnections()

    init(configuration: CurlConfiguration) throws(CurlSetupError) {
        poller = try Poller()
        guard let handle = curl_multi_init() else { throw CurlSetupError("libcurl has no memory for a multi handle") }
        self.handle = handle
        try set(CURLMOPT_MAXCONNECTS, configuration.cachedConnections)
        try set(CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX)
        let context = Unmanaged.passUnretained(self).toOpaque()
        try check("CURLMOPT_SOCKETDATA", ccurl_multi_setopt_pointer(handle, CURLMOPT_SOCKETDATA, context))
        try check("CURLMOPT_SOCKETFUNCTION", ccurl_multi_setopt_socket_callback(handle, Self.socketCallback))
        try check("CURLMOPT_TIMERDATA", ccurl_multi_setopt_pointer(handle, CURLMOPT_TIMERDATA, context))
        try check("CURLMOPT_TIMERFUNCTION", ccurl_multi_setopt_timer_callback(handle, Self.timerCallback))
    }

    deinit { close() }

    /// Makes the calling thread the owner: libcurl is called, and calls back, on this thread only.
    func begin() {
        precondition(owner == nil, "the loop was begun twice")
        owner = pthread_self()
    }

    func assertOwner() {
        guard let owner else { preconditionFailure("the loop was used before its thread ran") }
        precondition(pthread_equal(pthread_self(), owner) != 0, "the loop was used outside its thread")
    }

    /// Closes the connections and gives the handle up. Every easy handle has been removed before.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        let code = curl_multi_cleanup(handle)
        precondition(code == CURLM_OK, "curl_multi_cleanup returned \(code.rawValue)")
    }

    // MARK: Transfers

    func add(_ slot: EasySlot) -> CURLMcode { curl_multi_add_handle(handle, slot.handle) }

    /// Has this object told of the sockets that are closed of the connections that the slot opens. A connection
    /// outlives its request, and may outlive the slot; it does not outlive `close()`.
    func watchClosing(of slot: EasySlot) throws(RequestRefusal) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        try slot.setClosing(Self.closeCallback, context)
        slot.silent = silent
    }

    /// Takes a handle out, whether its transfer is over or not.
    func remove(_ slot: EasySlot) -> CURLMcode { curl_multi_remove_handle(handle, slot.handle) }

    /// A socket is ready.
    func act(on socket: Int32, readiness: Int32) -> CURLMcode {
        var running: Int32 = 0
        return curl_multi_socket_action(handle, socket, readiness, &running)
    }

    /// Calls libcurl if its time has come.
    func actIfDue(at now: UInt64) -> CURLMcode {
        guard let deadline, deadline <= now else { return CURLM_OK }
        self.deadline = nil
        return act(on: CURL_SOCKET_TIMEOUT, readiness: 0)
    }

    /// The next transfer that is over: the number of its slot, and libcurl's verdict.
    func nextFinished() -> (slot: Int, code: CURLcode)? {
        var left: Int32 = 0
        while let message = curl_multi_info_read(handle, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
                let slot = EasySlot.number(of: easy)
            else { continue }
            return (slot, ccurl_message_result(message))
        }
        return nil
    }

    // MARK: Waiting

    func watch(bell: Int32) throws(CurlSetupError) {
        let code = poller.watch(bell, reading: true, writing: false)
        guard code == 0 else { throw CurlSetupError("epoll_ctl", errno: code) }
    }

    func wait(milliseconds: Int32) -> Int { poller.wait(milliseconds: milliseconds) }

    func event(at index: Int) -> (descriptor: Int32, readiness: Int32) { poller.event(at: index) }

    /// Whether the socket was kept for later; if so, what came over it has been dealt with.
    func endRest(of socket: Int32) -> Bool { poller.endRest(of: socket) }

    /// A request ran out of time on a connection that it had been given at the moment, both in the monotonic clock's
    /// nanoseconds.
    func hasTimedOut(on connection: Connection, since moment: UInt64, at now: UInt64) {
        guard !silent.contains(connection, at: now), let socket = poller.socket(of: connection) else { return }
        silent.suspect(connection, on: socket, since: moment, at: now)
    }

    // MARK: Callbacks

    /// The object that a callback was set with. Its state is the owner's alone.
    private static func owned(_ context: UnsafeMutableRawPointer) -> CurlMulti {
        let multi = Unmanaged<CurlMulti>.fromOpaque(context).takeUnretainedValue()
        multi.assertOwner()
        return multi
    }

    /// -1 tells libcurl to fail every transfer; without an eye on the socket they would hang until their time limits.
    static let socketCallback: curl_socket_callback = { easy, socket, action, context, _ in
        guard let context else { return -1 }
        let multi = CurlMulti.owned(context)
        guard action != CURL_POLL_REMOVE else {
            if EasySlot.speaksInTurn(easy) { multi.poller.rest(socket) } else { multi.poller.forget(socket) }
            return 0
        }
        let reading = action == CURL_POLL_IN || action == CURL_POLL_INOUT
        let writing = action == CURL_POLL_OUT || action == CURL_POLL_INOUT
        return multi.poller.watch(socket, reading: reading, writing: writing) == 0 ? 0 : -1
    }

    /// libcurl closes every socket by this, those of its own clean-up too.
    static let closeCallback: curl_closesocket_callback = { context, socket in
        if let context {
            let multi = CurlMulti.owned(context)
            multi.poller.closing(socket)
            multi.silent.closing(socket)
        }
        return Glibc.close(socket) == 0 ? 0 : 1
    }

    static let timerCallback: curl_multi_timer_callback = { _, milliseconds, context in
        guard let context else { return -1 }
        let multi = CurlMulti.owned(context)
        multi.deadline = milliseconds < 0 ? nil : MonotonicClock.nanoseconds + UInt64(milliseconds) * 1_000_000
        return 0
    }

    // MARK: Options

    private func set(_ option: CURLMoption, _ value: Int) throws(CurlSetupError) {
        try check("CURLMoption \(option.rawValue)", ccurl_multi_setopt_long(handle, option, value))
    }

    private func check(_ call: String, _ code: CURLMcode) throws(CurlSetupError) {
        guard code == CURLM_OK else { throw CurlSetupError(call, code) }
    }
}
