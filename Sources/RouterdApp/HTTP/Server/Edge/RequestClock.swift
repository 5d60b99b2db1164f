package import NIOCore

/// The deadline of a connection in its current phase. The guard reports each event with its time.
///
///     idle ──bytes──▶ head ──headers──▶ body ──end──▶ answering ──answer──▶ sending ──sent──▶ idle
///     any ──last answer──▶ lingering
///
/// Only the client's time counts: in `answering` the client waits for the daemon, and there is no deadline. A request
/// that is answered before its end stays in `body` until that end arrives, and becomes idle then.
package struct RequestClock: Equatable, Sendable {
    /// The phase of the connection, and its start.
    package enum Phase: Equatable, Sendable {
        /// No byte of a request has arrived. Can transition to: head, body, lingering.
        case idle(since: NIODeadline)
        /// Headers are arriving. Can transition to: body, lingering.
        case head(since: NIODeadline)
        /// A body is arriving, `bytes` so far. Can transition to: answering, idle, lingering.
        case body(since: NIODeadline, bytes: Int)
        /// The request is complete, and the answer is being made. Can transition to: sending, lingering.
        case answering
        /// The answer is written to the socket. Can transition to: idle, head, body, lingering.
        case sending(since: NIODeadline)
        /// The last answer is written, and received bytes are discarded. Final state.
        case lingering(since: NIODeadline)
    }

    /// The action when the deadline has passed.
    package enum Overrun: Equatable, Sendable {
        /// No client waits for an answer: close the connection.
        case close
        /// A request did not arrive in time: answer with a problem.
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

    /// Bytes arrived that are not yet a whole request head.
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

    /// The client was just sent `100 Continue`, or the daemon kept it waiting: its time begins now.
    package mutating func restartBody(at now: NIODeadline) {
        guard case .body = phase else { return }
        phase = .body(since: now, bytes: 0)
    }

    package mutating func requestEnded(at now: NIODeadline) {
        guard case .body = phase else { return }
        phase = isAnswered ? .idle(since: now) : .answering
    }

    /// The answer is complete, and written to the socket.
    package mutating func answered(at now: NIODeadline) {
        switch phase {
        case .body: isAnswered = true
        case .answering: phase = .sending(since: now)
        case .idle, .head, .sending, .lingering: break
        }
    }

    /// The socket has sent the answer.
    package mutating func sent(at now: NIODeadline) {
        guard case .sending = phase else { return }
        phase = .idle(since: now)
    }

    package mutating func linger(at now: NIODeadline) {
        phase = .lingering(since: now)
    }

    /// The deadline; nil while the daemon is working.
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

    /// The action due now; nil if there is time left.
    package func overrun(at now: NIODeadline) -> Overrun? {
        guard let deadline, now >= deadline else { return nil }
        switch phase {
        case .head: return .timeOut
        case .body: return isAnswered ? .close : .timeOut
        case .idle, .answering, .sending, .lingering: return .close
        }
    }
}
