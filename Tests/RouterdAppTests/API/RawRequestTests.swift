import Dispatch
import Glibc
import HTTPTypes
import HummingbirdTesting
import Router
import Testing

/// Requests that no client library sends: what is ambiguous or broken is refused before anybody acts on it.
@Suite("Raw requests", .timeLimit(.minutes(15)))
struct RawRequestTests {
    private static let head = "POST \(TestDaemon.gallery)/notifications HTTP/1.1\r\nHost: a\r\n"

    private static let broken: [(name: String, text: String)] = [
        ("length and chunks", "\(head)Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
        ("two lengths", "\(head)Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"),
        ("unknown coding", "\(head)Transfer-Encoding: xchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
        ("blank before the colon", "\(head)Content-Length : 2\r\n\r\n{}"),
        ("folded header", "\(head)X-A: b\r\n c\r\nContent-Length: 2\r\n\r\n{}"),
        ("NUL in a header", "\(head)X-A: \0\r\nContent-Length: 2\r\n\r\n{}"),
        ("negative length", "\(head)Content-Length: -1\r\n\r\n{}"),
        ("chunk that overflows", "\(head)Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}\r\n0\r\n\r\n"),
        ("no HTTP", "hello\r\n\r\n"),
    ]

    @Test(arguments: broken)
    func brokenOnesAreRefused(_ row: (name: String, text: String)) async throws {
        try await withDaemon(TestDaemon.Options(isLive: true)) { daemon in
            try await daemon.putGallery()
            let port = try #require(daemon.client.port)
            let answer = try await exchange(row.text, at: port)
            #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(row.name): \(answer.prefix(200))")
            #expect(try daemon.store.census().accepted == 0, "\(row.name)")
            let health = try await daemon.call(.get, "/healthz")
            #expect(health.status == 200)
        }
    }

    @Test func chunksAreTakenToo() async throws {
        try await withDaemon(TestDaemon.Options(isLive: true)) { daemon in
            try await daemon.putGallery()
            let body = "1\r\n{\r\n1\r\n}\r\n0\r\n\r\n"
            let text = "\(Self.head)Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n\(body)"
            let answer = try await exchange(text, at: try #require(daemon.client.port))
            #expect(answer.hasPrefix("HTTP/1.1 202 "), "\(answer)")
        }
    }

    /// Sends the text as it is and reads all that comes until the other side closes, or is silent for two seconds.
    private func exchange(_ text: String, at port: Int) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "raw").async {
                continuation.resume(with: Result { try Self.exchange(Array(text.utf8), port) })
            }
        }
    }

    private static func exchange(_ bytes: [UInt8], _ port: Int) throws -> String {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var wait = timeval(tv_sec: 2, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in(port: port)
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw ProgramError(reason: String(cString: strerror(errno))) }
        _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        var answer: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count > 0 else { return String(decoding: answer, as: UTF8.self) }
            answer += chunk[..<count]
        }
    }
}
