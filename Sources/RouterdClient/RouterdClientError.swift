import RouterPlugin

/// The reason why a request, or the receiving of deliveries, has ended.
public struct RouterdClientError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The status of the answer; nil if the daemon has refused no request.
    public let status: Int?
    /// The stable code: that of the daemon's problem, or `superseded`, `ended`, `connection-lost`, `invalid-url`.
    public let code: String
    /// One or two sentences for people.
    public let detail: String

    init(status: Int? = nil, code: String, _ detail: String) {
        self.status = status
        self.code = code
        self.detail = detail
    }

    /// Reads the problem of a refused request.
    init(status: Int, problem: [UInt8]) {
        let problem = (try? JSONValue(parsing: problem)) ?? .null
        self.init(
            status: status, code: problem["code"]?.asString ?? "refused",
            problem["detail"]?.asString ?? "The daemon has answered with the status \(status).")
    }

    /// Another receiver has taken the deliveries of the session.
    public static let superseded = RouterdClientError(
        code: "superseded", "Another receiver has taken the deliveries of the session.")

    /// The session was discarded, or has a URL.
    public static let ended = RouterdClientError(code: "ended", "The session was discarded, or has a URL.")

    /// The connection has ended before the answer has.
    static let connectionLost = RouterdClientError(code: "connection-lost", "The connection to the daemon is lost.")

    /// Whether the same request may succeed later.
    public var isTemporary: Bool {
        guard let status else { return self == .connectionLost }
        return status >= 500 || status == 408 || status == 429
    }

    /// The status, the code and the detail.
    public var description: String {
        [status.map { String($0) }, code].compactMap(\.self).joined(separator: " ") + ": \(detail)"
    }
}
