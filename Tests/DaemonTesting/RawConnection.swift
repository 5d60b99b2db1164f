import Dispatch
import Glibc
import RouterPlugin
import TestSupport

/// A connection that sends bytes exactly as given, valid or not. It blocks, and therefore has a thread of its own.
final class RawConnection {
    let descriptor: Int32
    private var unread: [UInt8] = []

    /// Runs `body` with a connection to a port of the loopback interface.
    static func to<Value: Sendable>(
        _ port: Int, _ body: @escaping @Sendable (RawConnection) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "raw").async {
                continuation.resume(with: Result { try body(RawConnection(port)) })
            }
        }
    }

    /// Sends the text, and reads all answers until the other side closes.
    static func exchange(_ text: String, with port: Int) async throws -> [RawAnswer] {
        try await to(port) { connection in
            connection.send(text)
            return try connection.answersToTheEnd()
        }
    }

    /// - Parameter host: The last number of the address of the loopback network that the connection comes from.
    init(_ port: Int, from host: UInt32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        // A time limit only for tests that fail.
        var wait = timeval(tv_sec: 60 * longestMinutes, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
        if let host {
            var source = loopbackAddress(port: 0)
            source.sin_addr.s_addr = (UInt32(0x7F00_0000) + host).bigEndian
            let bound = withUnsafePointer(to: &source) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            guard bound == 0 else { throw ProgramError(reason: String(cString: strerror(errno))) }
        }
        var address = loopbackAddress(port: port)
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw ProgramError(reason: String(cString: strerror(errno))) }
    }

    deinit { close(descriptor) }

    /// Sends all bytes, unless the other side has gone.
    func send(_ text: String) { send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Sends a byte at a time, and waits after each for an answer; returns the number of bytes sent until then.
    func drip(_ text: String, waitingMilliseconds: Int32) -> Int {
        var sent = 0
        for byte in text.utf8 {
            send(String(UnicodeScalar(byte)))
            sent += 1
            var place = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            if poll(&place, 1, waitingMilliseconds) > 0 { break }
        }
        return sent
    }

    /// Shuts down the sending side: no more bytes follow.
    func closeOurSide() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Closes at once with a reset of the connection.
    func reset() {
        var lingering = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &lingering, socklen_t(MemoryLayout<linger>.size))
        // Another socket takes over the number and is closed with this object.
        let other = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        dup2(other, descriptor)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        close(other)
    }

    /// The next answer.
    func answer() throws -> RawAnswer {
        while true {
            if let (answer, length) = RawAnswer.first(in: unread) {
                unread.removeFirst(length)
                return answer
            }
            guard try readMore() else { throw ProgramError(reason: "closed after \(unread.count) bytes of an answer") }
        }
    }

    /// The next bytes.
    func bytes(_ count: Int) throws -> [UInt8] {
        while unread.count < count {
            guard try readMore() else { throw ProgramError(reason: "closed after \(unread.count) of \(count) bytes") }
        }
        defer { unread.removeFirst(count) }
        return Array(unread.prefix(count))
    }

    /// All bytes until the other side closes.
    func bytesToTheEnd() throws -> [UInt8] {
        while try readMore() {}
        defer { unread = [] }
        return unread
    }

    /// All answers until the other side closes.
    func answersToTheEnd() throws -> [RawAnswer] {
        while try readMore() {}
        var answers: [RawAnswer] = []
        while let (answer, length) = RawAnswer.first(in: unread) {
            answers.append(answer)
            unread.removeFirst(length)
        }
        guard unread.isEmpty else {
            throw ProgramError(reason: "no answer: \(String(decoding: unread, as: UTF8.self))")
        }
        return answers
    }

    /// The next chunk of a chunked answer; empty for the last one.
    func chunk() throws -> [UInt8] {
        let end = Array("\r\n".utf8)
        while true {
            if let place = unread.indices.first(where: { unread[$0...].starts(with: end) }),
                let length = Int(String(decoding: unread[..<place], as: UTF8.self), radix: 16),
                unread.count >= place + length + 2 * end.count
            {
                defer { unread.removeFirst(place + length + 2 * end.count) }
                return Array(unread[(place + end.count)...].prefix(length))
            }
            guard try readMore() else { throw ProgramError(reason: "closed between chunks") }
        }
    }

    /// Whether bytes arrived; false when the other side has closed.
    private func readMore() throws -> Bool {
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(descriptor, &chunk, chunk.count, 0)
        guard count >= 0 else { throw ProgramError(reason: String(cString: strerror(errno))) }
        unread += chunk[..<count]
        return count > 0
    }
}

/// An answer as received on the connection.
struct RawAnswer: Sendable {
    let status: Int
    /// Names in lower case.
    let headers: [String: String]
    let body: [UInt8]

    /// The first answer in these bytes with its length; nil if it is incomplete.
    static func first(in bytes: [UInt8]) -> (RawAnswer, length: Int)? {
        let end = Array("\r\n\r\n".utf8)
        guard let start = bytes.indices.first(where: { bytes[$0...].starts(with: end) }) else { return nil }
        let lines = String(decoding: bytes[..<start], as: UTF8.self).split(separator: "\r\n")
        guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else { return nil }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let sides = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            headers[sides[0].lowercased()] = sides.last.map { $0.drop { $0 == " " } }.map { String($0) }
        }
        let length = headers["content-length"].flatMap { Int($0) } ?? 0
        let body = bytes[(start + end.count)...]
        guard body.count >= length else { return nil }
        return (
            RawAnswer(status: status, headers: headers, body: Array(body.prefix(length))), start + end.count + length
        )
    }

    var json: JSONValue { (try? JSONValue(parsing: body, limits: .configuration)) ?? .null }

    /// The status and, for a problem, its code: `400 host-missing`.
    var summary: String {
        let code = headers["content-type"] == "application/problem+json" ? json.at("code").asString : nil
        return [String(status), code].compactMap(\.self).joined(separator: " ")
    }
}
