import Foundation
import Glibc
import Synchronization

/// A balancer between a client and a server on 127.0.0.1: hands bytes on, and can forget the connections that it has,
/// as one does whose table was cleared. Neither end is told: bytes that come over a forgotten connection are taken, and
/// that is all.
final class Relay: Sendable {
    let port: Int
    private let listener: Int32
    private let target: Int
    private let state = Mutex((connections: 0, forgotten: 0, open: Set<Int32>()))

    init(to target: Int) throws {
        self.target = target
        listener = HostileServer.newSocket()
        port = try HostileServer.listen(listener, at: .first, port: 0, backlog: 64)
        Thread.detachNewThread { [self] in
            defer { Glibc.close(listener) }
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else { return }
                connect(client)
            }
        }
    }

    /// How many connections it was given.
    var connections: Int { state.withLock { $0.connections } }

    /// Forgets those that it has now.
    func forgetAll() { state.withLock { $0.forgotten = $0.connections } }

    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        state.withLock { state in
            for socket in state.open { shutdown(socket, Int32(SHUT_RDWR)) }
        }
    }

    private func connect(_ client: Int32) {
        let server = HostileServer.newSocket()
        var address = HostileServer.loopback(port: target)
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else {
            Glibc.close(client)
            Glibc.close(server)
            return
        }
        let number = state.withLock { state in
            state.connections += 1
            state.open.formUnion([client, server])
            return state.connections
        }
        // Whichever way ends last closes both: a number that was given back may be another's.
        let ways = DispatchGroup()
        for (from, to) in [(client, server), (server, client)] {
            ways.enter()
            Thread.detachNewThread { [self] in
                hand(from, to, number)
                shutdown(from, Int32(SHUT_RDWR))
                shutdown(to, Int32(SHUT_RDWR))
                ways.leave()
            }
        }
        Thread.detachNewThread { [self] in
            ways.wait()
            close(client, server)
        }
    }

    private func hand(_ from: Int32, _ to: Int32, _ number: Int) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(from, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            guard state.withLock({ number > $0.forgotten }) else { continue }
            var sent = 0
            while sent < count {
                let more = send(to, Array(buffer[sent..<count]), count - sent, Int32(MSG_NOSIGNAL))
                guard more > 0 else { return }
                sent += more
            }
        }
    }

    private func close(_ client: Int32, _ server: Int32) {
        state.withLock { state in
            for socket in [client, server] {
                state.open.remove(socket)
                Glibc.close(socket)
            }
        }
    }
}
