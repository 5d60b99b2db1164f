import NIOHTTP1

/// A request and its answer, as far as a connection's guard has to know them.
struct Exchange {
    /// How far the answer has come.
    enum Answer {
        case notYet
        case begun
        case ended
    }

    /// Whether the answer goes without a body.
    let isHead: Bool
    /// Whether the client knows of chunks.
    let takesChunks: Bool
    /// Whether another request may follow.
    var keepsAlive: Bool
    /// Whether the client waits to be asked for the body.
    var isAwaited: Bool
    /// Bytes of the body; nil if it comes in chunks.
    let length: Int?
    /// Bytes that had come over the connection when the headers were there.
    private let wireCount: Int
    /// Whether those behind the guard know of the request, and have to be told if it does not come to its end.
    var isPassedOn = true
    /// Whether it has come to its end.
    var isReceived = false
    /// Bytes of the body that came.
    var received = 0
    /// Bytes of the body that are counted as held.
    var held = 0
    var answer = Answer.notYet
    /// Whether the answer goes on for as long as the client listens: it ends when the client says that it is done.
    var isStream = false

    init(_ head: HTTPRequestHead, keepsAlive: Bool, wireCount: Int) {
        isHead = head.method == .HEAD
        takesChunks = head.version != .http1_0
        self.keepsAlive = keepsAlive
        isAwaited = head.expectsContinue
        length = head.declaredLength
        self.wireCount = wireCount
    }

    /// Whether an answer that begins now has to be the last of the connection.
    ///
    /// A short rest of the body is waited for. A long one would be waited for in vain, and whether a body comes that was
    /// not asked for, nobody knows.
    var isLast: Bool {
        if !keepsAlive { return true }
        if isReceived { return false }
        guard !isAwaited, let length else { return true }
        return length - received > DaemonLimits.bodyRestBytes
    }

    /// Whether far more has come than the body: chunks have extensions and trailers, which nobody looks at.
    func isWasteful(wireCount: Int) -> Bool {
        guard length == nil, !isReceived else { return false }
        // A body of one-byte chunks has five more bytes a chunk, and is in order.
        return wireCount - self.wireCount > DaemonLimits.chunkOverheadBytes + DaemonLimits.chunkOverheadFactor
            * received
    }
}
