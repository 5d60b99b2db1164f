@testable import DaemonTesting

/// Requests that no client library sends, and their answers: every form that is known to confuse servers.
struct RawCase: Sendable {
    let name: String
    let text: String
    /// The answers, by status and code; after the last the connection is closed.
    let answers: [String]

    init(_ name: String, _ text: String, _ answers: String...) {
        self.name = name
        self.text = text
        self.answers = answers
    }

    private static let target = "\(TestDaemon.gallery)/notifications"
    static let head = "POST \(target) HTTP/1.1\r\nHost: localhost\r\n"
    private static let chunked = "\(head)Transfer-Encoding: chunked\r\n"
    private static let body = "2\r\n{}\r\n0\r\n\r\n"
    private static let malformed = "400 malformed-request"
    private static func fields(_ count: Int) -> String { (0..<count).map { "X-\($0): a\r\n" }.joined() }

    static let all = framing + syntax + sizes + protocols + meanings

    /// Ends of bodies: a request that two servers would read in two ways is refused.
    private static let framing = [
        RawCase("length and chunks", "\(chunked)Content-Length: 2\r\n\r\n\(body)", malformed),
        RawCase("two lengths", "\(head)Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", malformed),
        RawCase("one length twice", "\(head)Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", malformed),
        RawCase(
            "unknown coding", "\(head)Transfer-Encoding: xchunked\r\n\r\n\(body)",
            "501 transfer-encoding-unknown"),
        RawCase(
            "coding before chunks", "\(head)Transfer-Encoding: gzip, chunked\r\n\r\n\(body)",
            "501 transfer-encoding-unknown"),
        RawCase("coding after chunks", "\(head)Transfer-Encoding: chunked, identity\r\n\r\n\(body)", malformed),
        RawCase("negative length", "\(head)Content-Length: -1\r\n\r\n{}", malformed),
        RawCase("length with a sign", "\(head)Content-Length: +2\r\n\r\n{}", malformed),
        RawCase("chunk that overflows", "\(chunked)\r\nfffffffffffffffff\r\n{}\r\n0\r\n\r\n", malformed),
        RawCase(
            "chunks in 1.0", "POST \(target) HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n\(body)",
            "400 transfer-encoding-not-allowed"),
        RawCase("chunks", "\(chunked)Connection: close\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", "202"),
    ]

    private static let syntax = [
        RawCase("blank before the colon", "\(head)Content-Length : 2\r\n\r\n{}", malformed),
        RawCase("lines that end in LF", "GET /healthz HTTP/1.1\nHost: a\n\n", "400 http-version-not-supported"),
        RawCase("CR in a header", "\(head)X-A: b\rc\r\nContent-Length: 2\r\n\r\n{}", malformed),
        RawCase("NUL in a header", "\(head)X-A: \0\r\nContent-Length: 2\r\n\r\n{}", malformed),
        RawCase("folded header", "\(head)X-A: b\r\n c\r\nContent-Length: 2\r\n\r\n{}", malformed),
        RawCase("no HTTP", "hello\r\n\r\n", malformed),
        RawCase(
            "an absolute target of another host",
            "GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            "400 host-invalid"),
        RawCase(
            "an absolute target of this host",
            "GET http://LOCALHOST/healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "200"),
    ]

    private static let sizes = [
        RawCase("2,000 headers", "\(head)\(fields(2000))Content-Length: 2\r\n\r\n{}", "400 head-too-large"),
        RawCase(
            "100 KB of a header", "\(head)X-A: \(String(repeating: "a", count: 100_000))\r\n\r\n", "400 head-too-large"),
        RawCase(
            "1 MB of a target", "GET /\(String(repeating: "a", count: 1_000_000)) HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "400 head-too-large"),
        RawCase("100 MB of a body", "\(head)Content-Length: 99999999\r\n\r\n{}", "413 body-too-large"),
        RawCase(
            "chunks beyond the limit",
            "\(chunked)\r\n" + String(repeating: "10000\r\n\(String(repeating: " ", count: 65_536))\r\n", count: 8),
            "413 body-too-large"),
        RawCase(
            "200 KB of a chunk's extension",
            "\(chunked)\r\n2;a=\(String(repeating: "a", count: 200_000))\r\n{}\r\n0\r\n\r\n", "400 chunk-overhead"),
        RawCase(
            "60,000 brackets",
            "\(head)Connection: close\r\nContent-Length: 60000\r\n\r\n\(String(repeating: "[", count: 60_000))",
            "400 json-too-deep"),
    ]

    private static let protocols = [
        RawCase("HTTP/0.9", "GET /healthz\r\n\r\n", "400 http-version-not-supported"),
        RawCase("HTTP/9.9", "GET /healthz HTTP/9.9\r\nHost: localhost\r\n\r\n", "400 http-version-not-supported"),
        RawCase("HTTP/1.0", "GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "200"),
        RawCase("TLS", "\u{16}\u{03}\u{01}\u{00}\u{05}\u{01}\u{00}\u{00}\u{01}\u{00}", malformed),
        RawCase("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400 http-version-not-supported"),
        RawCase(
            "upgrade", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n", "200"),
    ]

    private static let meanings = [
        RawCase("no host", "GET /healthz HTTP/1.1\r\n\r\n", "400 host-missing"),
        RawCase("two hosts", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n\r\n", "400 host-repeated"),
        RawCase(
            "a page of another site",
            "\(head)Origin: http://other.example\r\nConnection: close\r\n"
                + "Content-Length: 2\r\n\r\n{}", "403 origin-not-local"),
        RawCase(
            "a name that was made to lead here",
            "POST \(target) HTTP/1.1\r\nHost: other.example\r\n"
                + "Connection: close\r\nContent-Length: 2\r\n\r\n{}", "421 host-not-local"),
        RawCase(
            "how it is, by any name", "GET /healthz HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n",
            "200"),
        RawCase("not a host", "GET /healthz HTTP/1.1\r\nHost: a, b\r\n\r\n", "400 host-invalid"),
        RawCase(
            "three at once",
            String(repeating: "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", count: 2)
                + "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "200", "200", "200"),
        RawCase(
            "one in order before one that is not", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nhello\r\n\r\n",
            "200",
            malformed),
        RawCase(
            "awaited body beyond the limit", "\(head)Expect: 100-continue\r\nContent-Length: 99999999\r\n\r\n",
            "413 body-too-large"),
        RawCase(
            "unknown expectation", "\(head)Expect: tea\r\nContent-Length: 2\r\n\r\n", "417 expectation-unknown"),
        RawCase(
            "awaited body for nothing",
            "POST /nowhere HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
                + "Content-Length: 2\r\n\r\n", "404 not-found"),
        RawCase(
            "early answer, short rest",
            "POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello"
                + "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: CLOSE\r\n\r\n", "404 not-found", "200"),
    ]
}
