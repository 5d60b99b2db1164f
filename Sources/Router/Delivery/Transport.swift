package import RouterPlugin

/// The edge that sends webhooks. `CurlTransport` sends them by libcurl; tests may bring a transport of their own.
package protocol Transport: Sendable {
    /// Starts a request and returns at once; `completion` is called exactly once, on a thread of the transport's own.
    func start(_ request: WebhookRequest, completion: @escaping @Sendable (TransferResult) -> Void)
}

/// A request, ready to be sent.
package struct WebhookRequest: Hashable, Sendable {
    /// Webhooks are posted; clients of the HTTP API also put.
    package enum Method: String, Hashable, Sendable {
        case post = "POST"
        case put = "PUT"
        case get = "GET"
        case delete = "DELETE"
    }

    package var method = Method.post
    package var url: String
    /// Names and values without CR or LF.
    package var headers: [HeaderField]
    package var body: [UInt8]
    /// Time limit for the connection to be established, name look-up and TLS included.
    package var connectTimeoutMilliseconds: Int
    /// Time limit for the whole exchange.
    package var timeoutMilliseconds: Int
    /// How many bytes of the response body are read; the rest is cut off.
    package var responseLimit: Int
    /// The application that sends: its egress policy decides where the request may go. Nil has only the grants for all
    /// applications.
    package var application: ApplicationID?

    package init(
        url: String, headers: [HeaderField], body: [UInt8], connectTimeoutMilliseconds: Int = 5000,
        timeoutMilliseconds: Int = 15_000, responseLimit: Int = RouterLimits.responseBytes,
        application: ApplicationID? = nil
    ) {
        self.url = url
        self.headers = headers
        self.body = body
        self.connectTimeoutMilliseconds = connectTimeoutMilliseconds
        self.timeoutMilliseconds = timeoutMilliseconds
        self.responseLimit = responseLimit
        self.application = application
    }
}

/// A header field of a request.
package struct HeaderField: Hashable, Sendable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// The result of a request.
package struct TransferResult: Hashable, Sendable {
    package enum Outcome: Hashable, Sendable {
        case response(ReceivedResponse)
        case failure(TransferFailure)
    }

    package var outcome: Outcome
    package var metrics: TransferMetrics

    package init(outcome: Outcome, metrics: TransferMetrics = TransferMetrics()) {
        self.outcome = outcome
        self.metrics = metrics
    }
}

/// The parts of a response that delivery needs.
package struct ReceivedResponse: Hashable, Sendable {
    package var status: Int
    /// The wait that the receiver asks for (`Retry-After`, either form), in seconds; nil if it asks for none.
    package var retryAfterSeconds: Int?
    /// Whether the answer is about the session of the delivery alone (`routerd-scope: session`), and not about the receiver.
    package var isForSession: Bool
    package var contentType: String?
    /// The target of a 3xx answer; it is shown, never followed.
    package var location: String?
    /// At most `responseLimit` bytes.
    package var body: [UInt8]
    /// Whether the body was longer than that.
    package var bodyTruncated: Bool

    package init(
        status: Int, retryAfterSeconds: Int? = nil, isForSession: Bool = false, contentType: String? = nil,
        location: String? = nil, body: [UInt8] = [], bodyTruncated: Bool = false
    ) {
        self.status = status
        self.retryAfterSeconds = retryAfterSeconds
        self.isForSession = isForSession
        self.contentType = contentType
        self.location = location
        self.body = body
        self.bodyTruncated = bodyTruncated
    }
}

/// Why there is no response.
package struct TransferFailure: Hashable, Sendable {
    package enum Kind: String, CaseIterable, Hashable, Sendable {
        case nameNotResolved = "name-not-resolved"
        case connectFailed = "connect-failed"
        case timedOut = "timed-out"
        case tlsFailed = "tls-failed"
        case connectionLost = "connection-lost"
        case garbled = "garbled-response"
        case unusableURL = "unusable-url"
        /// The egress guard does not let this application connect there.
        case egressRefused = "egress-refused"
        /// The store has no payload of the notification, so there is nothing to send, now or later.
        case payloadMissing = "payload-missing"
        /// The format of the endpoint cannot render it, now or later.
        case formatFailed = "format-failed"
        case shuttingDown = "shutting-down"
        /// The receiver's connection ended without an acknowledgement.
        case streamEnded = "stream-ended"
        /// The receiver's connection has not taken the message: it has ended before, or its receiver reads nothing.
        case noConsumer = "no-consumer"
        /// This machine had no socket or thread available: too many files are open, memory is short, or too many
        /// look-ups of names wait for an answer.
        case noSocket = "no-socket"
        case other = "transport-error"
    }

    package var kind: Kind
    /// libcurl's code, if the failure is libcurl's.
    package var curlCode: Int?
    /// One line for people, without secrets.
    package var message: String

    package init(kind: Kind, curlCode: Int? = nil, message: String) {
        self.kind = kind
        self.curlCode = curlCode
        self.message = message
    }

    /// Whether a time limit caused it, in any phase of the request. The kind does not tell: an endpoint that cannot be
    /// connected to in time was never sent the request.
    package var hasRunOutOfTime: Bool { kind == .timedOut || curlCode == Self.curlCodeOfTimeouts }

    /// `CURLE_OPERATION_TIMEDOUT`, for every limit of time.
    package static let curlCodeOfTimeouts = 28
}

/// The phases of a request, in microseconds from its start, as libcurl measures them.
package struct TransferMetrics: Hashable, Sendable {
    package var nameLookup: Int64 = 0
    package var connect: Int64 = 0
    package var tlsHandshake: Int64 = 0
    package var firstByte: Int64 = 0
    package var total: Int64 = 0
    package var remoteAddress: String?
    package var reusedConnection = false
    /// `1.1`, `2`; nil if no response arrived.
    package var httpVersion: String?

    package init() {}
}
