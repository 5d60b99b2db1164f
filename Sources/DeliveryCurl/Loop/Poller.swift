import CCurl
import Glibc

/// The descriptors that the loop waits for: an epoll instance and the sockets that it watches.
struct Poller: ~Copyable {
    private let descriptor: Int32
    private let events: UnsafeMutableBufferPointer<epoll_event>
    /// By socket, the events that the kernel was told to watch for.
    private var watched: [Int32: UInt32] = [:]
    /// Sockets on which nothing is asked, and nothing should be said; watched for reading.
    private var resting: Set<Int32> = []
    /// Sockets that are open and not watched now.
    private var unwatched: Set<Int32> = []

    init() throws(CurlSetupError) {
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else { throw CurlSetupError("epoll_create1", errno: errno) }
        events = .allocate(capacity: CurlLimits.eventsPerTurn)
        events.initialize(repeating: epoll_event())
    }

    deinit {
        Glibc.close(descriptor)
        events.deallocate()
    }

    /// Watches a socket from now on, or for other directions than before. Returns 0 or an errno.
    mutating func watch(_ socket: Int32, reading: Bool, writing: Bool) -> Int32 {
        var event = epoll_event()
        if reading { event.events |= EPOLLIN.rawValue }
        if writing { event.events |= EPOLLOUT.rawValue }
        event.data.fd = socket
        let hasRested = resting.remove(socket) != nil
        unwatched.remove(socket)
        let isNew = watched.updateValue(event.events, forKey: socket) == nil && !hasRested
        let code = epoll_ctl(descriptor, isNew ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event)
        if code == 0 { return 0 }
        // The kernel forgets a socket that was closed, and its number may be in use again by now.
        if errno == ENOENT, epoll_ctl(descriptor, EPOLL_CTL_ADD, socket, &event) == 0 { return 0 }
        if errno == EEXIST, epoll_ctl(descriptor, EPOLL_CTL_MOD, socket, &event) == 0 { return 0 }
        let failure = errno
        watched[socket] = nil
        return failure
    }

    /// Stops watching. An error means that the socket was closed before, which comes to the same.
    mutating func forget(_ socket: Int32) {
        guard watched.removeValue(forKey: socket) != nil else { return }
        _ = epoll_ctl(descriptor, EPOLL_CTL_DEL, socket, nil)
        unwatched.insert(socket)
    }

    /// The socket is about to be closed: its number may belong to another file the next moment, and its events of the
    /// same turn are not looked at any more.
    mutating func closing(_ socket: Int32) {
        forget(socket)
        resting.remove(socket)
        unwatched.remove(socket)
    }

    /// The open socket of a connection, unless it rests.
    func socket(of connection: Connection) -> Int32? {
        watched.keys.first { Connection(of: $0) == connection } ?? unwatched.first { Connection(of: $0) == connection }
    }

    /// Watches a socket that is kept for later: bytes that come over it now are no answer to a request.
    mutating func rest(_ socket: Int32) {
        guard let events = watched[socket] else { return }
        guard events == EPOLLIN.rawValue || watch(socket, reading: true, writing: false) == 0 else { return }
        watched[socket] = nil
        resting.insert(socket)
    }

    /// Ends the watch over a socket that is kept and on which something has come; false if it is not one.
    ///
    /// The bytes would be taken for the answer to the next request (RFC 9112, 9.2). They are thrown away, and the
    /// connection is ended, so that libcurl finds it dead and takes another. If it has ended already, nothing is to be
    /// done.
    mutating func endRest(of socket: Int32) -> Bool {
        guard resting.remove(socket) != nil else { return false }
        unwatched.insert(socket)
        _ = epoll_ctl(descriptor, EPOLL_CTL_DEL, socket, nil)
        var hasSpoken = false
        withUnsafeTemporaryAllocation(byteCount: CurlLimits.strayBytes, alignment: 1) { buffer in
            // A bound, for a peer that sends faster than this reads: the rest ends with the connection.
            for _ in 0..<CurlLimits.strayReads {
                guard recv(socket, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT)) > 0 else { break }
                hasSpoken = true
            }
        }
        if hasSpoken { shutdown(socket, Int32(SHUT_RDWR)) }
        return true
    }

    /// Waits until something is ready, this long at most (-1: without a limit), and returns the number of events.
    func wait(milliseconds: Int32) -> Int {
        let count = epoll_wait(descriptor, events.baseAddress, Int32(events.count), milliseconds)
        if count >= 0 { return Int(count) }
        guard errno == EINTR else { preconditionFailure("epoll_wait on descriptor \(descriptor): errno \(errno)") }
        return 0
    }

    /// A descriptor that is ready, and for what, in libcurl's bits. To be read before the next `wait`.
    func event(at index: Int) -> (descriptor: Int32, readiness: Int32) {
        let event = events[index]
        var readiness: Int32 = 0
        if event.events & EPOLLIN.rawValue != 0 { readiness |= CURL_CSELECT_IN }
        if event.events & EPOLLOUT.rawValue != 0 { readiness |= CURL_CSELECT_OUT }
        if event.events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { readiness |= CURL_CSELECT_ERR }
        return (event.data.fd, readiness)
    }
}

/// The clock of all waiting here: it never jumps.
enum MonotonicClock {
    static var nanoseconds: UInt64 {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
    }

    /// How long `epoll_wait` has to wait for the deadline: rounded up, else the loop would spin through the last
    /// millisecond.
    static func milliseconds(until deadline: UInt64, from now: UInt64) -> Int32 {
        guard deadline > now else { return 0 }
        return Int32(clamping: (deadline - now - 1) / 1_000_000 + 1)
    }
}
