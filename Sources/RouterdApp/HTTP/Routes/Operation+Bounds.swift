import HTTPTypes
import Hummingbird
import Router

extension Operation {
    /// The largest cost of a request, and the share of its tenant.
    ///
    /// Steps of the engine are bounded by turns, and the time of a client by `ConnectionTimes`, alike for all operations.
    package struct Bounds: Hashable, Sendable {
        /// The largest body in bytes; 0 if none is read.
        package let body: Int
        /// The largest answer in bytes; nil for an answer that is made as the client reads it.
        package let answer: Int?
        package let share: Share
    }

    /// A resource that tenants share, each of them with a part.
    package enum Share: String, CaseIterable, Sendable {
        /// The event loops alone.
        case none
        /// The tenant's line in the engine's queue.
        case line
        /// Readers of the store: each read takes a turn.
        case reads
        /// Walks over resources: a request has a slot until its answer is made.
        case walks
        /// Decisions without effect: the same.
        case decisions
        /// Lists of acknowledgements: the same.
        case acknowledgements
        /// Parts of batches: each part takes a slot while it is read.
        case parts
        /// Decoding, signatures and filters of sources: a long one takes a turn.
        case sources
        /// Hashes of passcodes: a request has a turn from its first step to its last.
        case hashes
        /// Streams, of which a tenant has a bounded number.
        case streams
    }
}

extension Operation.Bounds {
    /// Refuses an answer that is too long, before any of it is written.
    func check(_ response: Response) throws(Problem) {
        guard let answer, let length = response.body.contentLength, length > answer else { return }
        throw Problem(
            .unprocessableContent, "answer-too-large",
            "The answer has more than \(answer) bytes: a smaller limit makes it shorter.")
    }

    /// Answers that are the same for every caller.
    static let fixed = Self(body: 0, answer: DaemonLimits.shownBytes, share: .none)
    /// One resource from memory.
    static let shown = Self(body: 0, answer: DaemonLimits.shownBytes, share: .line)
    /// One document that changes a resource.
    static let change = Self(body: DaemonLimits.bodyBytes, answer: DaemonLimits.shownBytes, share: .line)
    /// A notification or an event.
    static let payload = Self(body: RouterLimits.payloadBytes, answer: DaemonLimits.shownBytes, share: .line)
    /// The answer of a receiver.
    static let outcome = Self(body: RouterLimits.answerBytes, answer: DaemonLimits.shownBytes, share: .line)
    /// Facts of the store.
    static let facts = Self(body: 0, answer: DaemonLimits.answerBytes, share: .reads)
    /// A change that begins with a read of the store.
    static let changeOfFacts = Self(body: DaemonLimits.bodyBytes, answer: DaemonLimits.answerBytes, share: .reads)
    /// A page of a list.
    static let page = Self(body: 0, answer: DaemonLimits.answerBytes, share: .walks)
    /// One command for each of many resources.
    static func walk(body: Int = 0) -> Self { Self(body: body, answer: DaemonLimits.shownBytes, share: .walks) }
    /// A list of ids.
    static let ids = Self(body: DaemonLimits.bodyBytes, answer: DaemonLimits.shownBytes, share: .acknowledgements)
    /// Many lines, each answered by a line.
    static let lines = Self(body: DaemonLimits.batchBytes, answer: nil, share: .parts)
    /// A request of a source's sender.
    static let sender = Self(body: RouterLimits.payloadBytes, answer: DaemonLimits.shownBytes, share: .sources)
    /// One document with a passcode.
    static let passcode = Self(body: DaemonLimits.bodyBytes, answer: DaemonLimits.shownBytes, share: .hashes)
    /// A stream of events.
    static let stream = Self(body: 0, answer: nil, share: .streams)
    /// Settings of the daemon.
    static let settings = Self(body: 0, answer: DaemonLimits.answerBytes, share: .line)
    /// The rules of the daemon.
    static let rules = Self(body: DaemonLimits.rulesBytes, answer: DaemonLimits.answerBytes, share: .line)
    /// A set of resources, and the differences that it makes.
    static let set = Self(body: DaemonLimits.batchBytes, answer: 4 * DaemonLimits.batchBytes, share: .walks)

    /// A decision that has no effect.
    static func decision(body: Int = DaemonLimits.bodyBytes) -> Self {
        Self(body: body, answer: DaemonLimits.explanationBytes, share: .decisions)
    }
}
