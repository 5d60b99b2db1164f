import Foundation
import Glibc
import Synchronization

/// A server on a raw socket of a loopback address, each connection served by a script on its own thread.
///
/// It knows no manners: a script may answer late, wrongly, without an end or not at all. The server counts connections
/// and requests.
final class HostileServer: Sendable {
    typealias Script = @Sendable (HostileConnection) -> Void

    struct Seen: Sendable {
        var connections = 0
        var requests: [SeenRequest] = []
    }

    /// A loopback address to listen at.
    enum Host: String, Sendable {
        case first = "127.0.0.1"
        case second = "127.0.0.2"
        case v6 = "::1"
    }

    let port: Int
    private let listener: Int32
    private let isAccepting: Bool
    private let state = Mutex((seen: Seen(), open: Set<Int32>(), isStopped: false))

    /// - Parameters:
    ///   - wanted: the port; 0 takes a free one.
    ///   - backlog: how many connections the kernel accepts on its own.
    init(
        at host: Host = .first, port wanted: Int = 0, backlog: Int32 = 512, isAccepting: Bool = true,
        _ script: @escaping Script
    ) throws {
        listener = Self.newSocket(host == .v6 ? AF_INET6 : AF_INET)
        port =
            try host == .v6
            ? Self.listenV6(listener, backlog) : Self.listen(listener, at: host, port: wanted, backlog: backlog)
        self.isAccepting = isAccepting
        guard isAccepting else { return }
        Thread.detachNewThread { [self] in
            // Not by the thread that stops it: a number that was given back would be another listener's by the time of
            // `accept`.
            defer { Glibc.close(listener) }
            while true {
                let socket = accept(listener, nil, nil)
                guard socket >= 0 else { return }
                let isStopped = state.withLock { state in
                    state.seen.connections += 1
                    state.open.insert(socket)
                    return state.isStopped
                }
                guard !isStopped else { return finish(socket) }
                Thread.detachNewThread { [self] in
                    script(HostileConnection(socket: socket, server: self))
                    finish(socket)
                }
            }
        }
    }

    var seen: Seen { state.withLock { $0.seen } }

    func url(_ path: String = "/hook") -> String { "http://127.0.0.1:\(port)\(path)" }

    /// Ends every connection, so that every script comes to its end.
    func stop() {
        state.withLock { state in
            guard !state.isStopped else { return }
            state.isStopped = true
            // The listener first: a client that comes back when its connection ends is not let in.
            shutdown(listener, Int32(SHUT_RDWR))
            if !isAccepting { Glibc.close(listener) }
            for socket in state.open { shutdown(socket, Int32(SHUT_RDWR)) }
        }
    }

    fileprivate func note(_ request: SeenRequest) { state.withLock { $0.seen.requests.append(request) } }

    private func finish(_ socket: Int32) {
        state.withLock { state in
            guard state.open.remove(socket) != nil else { return }
            Glibc.close(socket)
        }
    }

    /// Runs `body` with a server that is stopped afterwards.
    static func with<Value>(
        script: @escaping Script, _ body: (HostileServer) async throws -> Value
    ) async throws -> Value {
        let server = try HostileServer(script)
        defer { server.stop() }
        return try await body(server)
    }

    static func newSocket(_ family: Int32 = AF_INET) -> Int32 { socket(family, Int32(SOCK_STREAM.rawValue), 0) }

    /// A port of 127.0.0.1 on which no server listens.
    ///
    /// It stays taken for as long as the process lives, so that no other server gets it.
    static func closedPort() throws -> Int {
        try listen(newSocket(), at: .first, port: 0, backlog: nil)
    }
}

/// A request as it came over the wire.
struct SeenRequest: Sendable {
    /// The request line and the header lines, without the empty line.
    var lines: [String]
    var body: [UInt8]

    var headers: [String] { Array(lines.dropFirst()) }
}

/// A script's end of its connection. Blocking, on the script's own thread.
final class HostileConnection {
    fileprivate let socket: Int32
    private let server: HostileServer
    private var requestCount = 0

    fileprivate init(socket: Int32, server: HostileServer) {
        self.socket = socket
        self.server = server
    }

    /// Whether the request that was read last is the connection's first.
    var isFirstRequest: Bool { requestCount == 1 }

    /// The next request, or nil at the connection's end.
    func readRequest() -> SeenRequest? {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            guard let byte = read(1).first else { return nil }
            head.append(byte)
        }
        let lines = String(decoding: head, as: UTF8.self).components(separatedBy: "\r\n").filter { !$0.isEmpty }
        let length =
            lines.first { $0.lowercased().hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) } ?? 0
        var body: [UInt8] = []
        while body.count < length {
            let more = read(length - body.count)
            guard !more.isEmpty else { return nil }
            body += more
        }
        let request = SeenRequest(lines: lines, body: body)
        server.note(request)
        requestCount += 1
        return request
    }

    /// False when the other side is gone.
    @discardableResult
    func write(_ text: String) -> Bool { write(Array(text.utf8)) }

    @discardableResult
    func write(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let sent = rest.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard sent > 0 else { return false }
            rest = rest.dropFirst(sent)
        }
        return true
    }

    /// A complete response that keeps the connection open.
    @discardableResult
    func respond(_ status: String, headers: [String] = [], body: String = "") -> Bool {
        let lines = ["HTTP/1.1 \(status)"] + headers + ["Content-Length: \(body.utf8.count)", "", body]
        return write(lines.joined(separator: "\r\n"))
    }

    /// Ends this connection and all others, and accepts no other one.
    func stopServer() { server.stop() }

    /// Makes the connection's end a reset.
    func resetAtEnd() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// Waits for the other side, or the server's stop, to end the connection.
    func waitForEnd() {
        while !read(4096).isEmpty {}
    }

    private func read(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: min(count, 65_536)) { buffer, initialized in
            initialized = max(0, recv(socket, buffer.baseAddress, buffer.count, 0))
        }
    }
}
