import NIOHTTP1

/// A request and its answer, as far as a connection's guard needs them.
struct Exchange {
    /// The progress of the answer.
    enum Answer {
        case notYet
        case begun
        case ended
    }

    /// Tells the connection that the answer waits for an event, for as long as the client listens.
    struct Listening: Sendable {}

    /// Whether the answer has no body.
    let isHead: Bool
    /// Whether the client understands chunks.
    let takesChunks: Bool
    /// Whether another request may follow.
    var keepsAlive: Bool
    /// Whether the client waits for `100 Continue` before it sends the body.
    var isAwaited: Bool
    /// Bytes of the body; nil if it is sent in chunks.
    let length: Int?
    /// Bytes received on the connection when the headers were complete.
    private let wireCount: Int
    /// Whether the handlers behind the guard know of the request, and need an error if it does not arrive completely.
    var isPassedOn = true
    /// Whether the request has arrived completely.
    var isReceived = false
    /// Bytes of the body received.
    var received = 0
    /// Bytes of the body that are counted as held, and the sender that they are counted for.
    var held = 0
    var sender: BodyShares.Sender
    var answer = Answer.notYet
    /// Whether the answer begins or continues for as long as the client listens: it ends when the client closes its side.
    var isStream = false
    /// Whether the connection is a WebSocket from the answer on.
    var isUpgraded = false

    init(_ head: HTTPRequestHead, from sender: BodyShares.Sender, keepsAlive: Bool, wireCount: Int) {
        self.sender = sender
        isHead = head.method == .HEAD
        takesChunks = head.version != .http1_0
        self.keepsAlive = keepsAlive
        isAwaited = head.expectsContinue
        length = head.declaredLength
        self.wireCount = wireCount
    }

    /// Whether an answer that begins now has to be the last of the connection.
    ///
    /// A short rest of the body is waited for. A long rest is not worth the wait, and a client that was not sent `100
    /// Continue` may or may not send its body.
    var isLast: Bool {
        if !keepsAlive { return true }
        if isReceived { return false }
        guard !isAwaited, let length else { return true }
        return length - received > DaemonLimits.bodyRestBytes
    }

    /// Whether far more bytes than the body have arrived: chunks have extensions and trailers, which no handler reads.
    func isWasteful(wireCount: Int) -> Bool {
        guard length == nil, !isReceived else { return false }
        // A body of one-byte chunks has five more bytes a chunk, and is valid.
        return wireCount - self.wireCount > DaemonLimits.chunkOverheadBytes + DaemonLimits.chunkOverheadFactor
            * received
    }
}
