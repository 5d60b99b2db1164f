import Dispatch
import Glibc
import TestSupport

/// The socket of a supervisor: receives what a process tells by sd_notify.
final class NotifySocket: Sendable {
    /// The value of `NOTIFY_SOCKET`.
    let name: String
    private let descriptor: Int32
    private let queue = DispatchQueue(label: "notify")

    /// - Parameter name: A path, or the name of an abstract socket after `@`.
    init(_ name: String) throws {
        self.name = name
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        // A time limit only for tests that fail.
        var wait = timeval(tv_sec: 60 * longestMinutes, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = name.hasPrefix("@") ? [0] + name.utf8.dropFirst() : Array(name.utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = MemoryLayout<sa_family_t>.size + bytes.count
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, socklen_t(length)) }
        }
        guard bound == 0 else { throw ProgramError(reason: "bind \(name): \(String(cString: strerror(errno)))") }
    }

    deinit { close(descriptor) }

    /// The next datagram.
    func next() async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { [descriptor] in
                var bytes = [UInt8](repeating: 0, count: 4096)
                let count = recv(descriptor, &bytes, bytes.count, 0)
                if count >= 0 {
                    continuation.resume(returning: String(decoding: bytes[..<count], as: UTF8.self))
                } else {
                    continuation.resume(
                        throwing: ProgramError(reason: "no datagram: \(String(cString: strerror(errno)))"))
                }
            }
        }
    }

    /// The datagrams up to one that begins so, which is the last of them.
    func until(_ beginning: String) async throws -> [String] {
        var seen = [try await next()]
        while seen.last?.hasPrefix(beginning) != true {
            try Task.checkCancellation()
            seen.append(try await next())
        }
        return seen
    }
}
