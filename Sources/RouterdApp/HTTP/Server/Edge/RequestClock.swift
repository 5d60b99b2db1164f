package import NIOCore

/// Says until when a connection may go on with what it is doing. It is told what happens, and when.
///
///     idle ──bytes──▶ head ──headers──▶ body ──end──▶ answering ──answer──▶ sending ──sent──▶ idle
///     any ──last answer──▶ lingering
///
/// Only time that the client takes is counted: in `answering` it waits for us, and there is no deadline. A request that
/// is answered before its end stays in `body` until that end comes, and is idle then.
package struct RequestClock: Equatable, Sendable {
    /// What the connection is doing, and since when.
    package enum Phase: Equatable, Sendable {
        /// No byte of a request has come. Can transition to: head, body, lingering.
        case idle(since: NIODeadline)
        /// Headers are coming. Can transition to: body, lingering.
        case head(since: NIODeadline)
        /// A body is coming, so many bytes so far. Can transition to: answering, idle, lingering.
        case body(since: NIODeadline, bytes: Int)
        /// The request is there, and the answer is being made. Can transition to: sending, lingering.
        case answering
        /// The answer is given to the socket. Can transition to: idle, head, body, lingering.
        case sending(since: NIODeadline)
        /// The last answer is given, and what comes is thrown away. This is the end.
        case lingering(since: NIODeadline)
    }

    /// What is to be done when time is over.
    package enum Overrun: Equatable, Sendable {
        /// Nobody waits for an answer.
        case close
        /// There is a request that did not come in time.
        case timeOut
    }

    package let times: ConnectionTimes
    package private(set) var phase: Phase
    /// Whether the request in `body` has been answered.
    private var isAnswered = false

    package init(times: ConnectionTimes, at now: NIODeadline) {
        self.times = times
        phase = .idle(since: now)
    }

    /// Something came that is no whole request head yet.
    package mutating func bytesArrived(at now: NIODeadline) {
        switch phase {
        case .idle, .sending: phase = .head(since: now)
        case .head, .body, .answering, .lingering: break
        }
    }

    package mutating func headArrived(at now: NIODeadline) {
        isAnswered = false
        phase = .body(since: now, bytes: 0)
    }

    package mutating func bodyArrived(_ count: Int) {
        guard case .body(let since, let bytes) = phase else { return }
        phase = .body(since: since, bytes: bytes + count)
    }

    /// The client has just been told to begin, or was kept waiting by us: its time begins now.
    package mutating func restartBody(at now: NIODeadline) {
        guard case .body = phase else { return }
        phase = .body(since: now, bytes: 0)
    }

    package mutating func requestEnded(at now: NIODeadline) {
        guard case .body = phase else { return }
        phase = isAnswered ? .idle(since: now) : .answering
    }

    /// The answer is complete, and given to the socket.
    package mutating func answered(at now: NIODeadline) {
        switch phase {
        case .body: isAnswered = true
        case .answering: phase = .sending(since: now)
        case .idle, .head, .sending, .lingering: break
        }
    }

    /// The socket has taken the answer.
    package mutating func sent(at now: NIODeadline) {
        guard case .sending = phase else { return }
        phase = .idle(since: now)
    }

    package mutating func linger(at now: NIODeadline) {
        phase = .lingering(since: now)
    }

    /// When time is over; nil if the client may wait for us.
    package var deadline: NIODeadline? {
        switch phase {
        case .idle(let since): since + times.idle
        case .head(let since): since + times.head
        case .body(let since, let bytes):
            since + min(times.request, times.bodyGrace + .seconds(Int64(bytes / max(1, times.bodyBytesPerSecond))))
        case .answering: nil
        case .sending(let since): since + times.request
        case .lingering(let since): since + times.linger
        }
    }

    /// What is to be done now; nil if there is time.
    package func overrun(at now: NIODeadline) -> Overrun? {
        guard let deadline, now >= deadline else { return nil }
        switch phase {
        case .head: return .timeOut
        case .body: return isAnswered ? .close : .timeOut
        case .idle, .answering, .sending, .lingering: return .close
        }
    }
}
