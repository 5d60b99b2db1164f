import HTTPTypes
import NIOHTTP1

extension Problem {
    /// The problem of bytes that the parser does not understand. The connection cannot go on: the start of the next
    /// request is unknown.
    init(_ error: HTTPParserError) {
        switch error {
        // The parser pauses at the preface of HTTP/2.
        case .invalidVersion, .paused:
            self.init(
                .badRequest, "http-version-not-supported",
                "The request line must end with HTTP/1.1 or HTTP/1.0, CR and LF; a line feed alone ends no line here.")
        case .headerOverflow:
            self.init(
                .badRequest, "head-too-large",
                "Request line and headers may have \(DaemonLimits.headBytes) bytes and \(DaemonLimits.headFields) fields."
            )
        default:
            self.init(.badRequest, "malformed-request", Self.detail(of: error))
        }
    }

    private static func detail(of error: HTTPParserError) -> String {
        switch error {
        case .invalidMethod, .invalidConstant, .invalidURL, .invalidHost, .invalidPort, .invalidPath,
            .invalidQueryString, .invalidFragment:
            "The request line is not one of HTTP/1.1."
        case .invalidHeaderToken, .lfExpected: "A header is not written as RFC 9112 has it, with CR and LF at its end."
        case .invalidContentLength, .unexpectedContentLength: "The length of the body is not clear."
        case .invalidChunkSize: "A chunk of the body does not say how long it is."
        case .invalidEOFState: "The connection ended within the request."
        default: "The request is not written as RFC 9112 has it."
        }
    }

    static let timedOut = Problem(
        .requestTimeout, "request-timeout", "The request did not come in time, or came too slowly.")

    static let wasteful = Problem(
        .badRequest, "chunk-overhead", "The chunks of the body carry too much that is no body.")

    static let noMoreBodies = Problem(
        .serviceUnavailable, "overloaded", "Too many bodies are being received; try again.", retryAfter: 1)

    static let noMoreConnections = Problem(
        .serviceUnavailable, "overloaded", "All connections are taken; try again.", retryAfter: 1)

    static let tooManyConnections = Problem(
        .tooManyRequests, "too-many-connections", "This address has as many connections as one address may have.",
        retryAfter: 1)

    /// The sender has to wait for that many seconds.
    static func tooManyRequests(retryAfter seconds: Int) -> Problem {
        Problem(
            .tooManyRequests, "too-many-requests", "Requests come faster than they may; wait before the next.",
            retryAfter: seconds)
    }
}
