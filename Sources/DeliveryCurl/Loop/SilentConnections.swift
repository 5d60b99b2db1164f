import CCurl
import Glibc

/// Shared connections over which nothing came while a request ran out of time.
///
/// A connection of HTTP/2 outlives a request that times out on it. It may be one that a balancer or a firewall on the
/// way has forgotten, on which every request would end so; or its receiver takes longer than that request had, and
/// answers the others yet. The two cannot be told apart. So no further request goes over it, those that are under way
/// have their time, and it ends with the last of them. If something comes over it first, it is as good as any other.
///
/// All moments are in the monotonic clock's nanoseconds.
final class SilentConnections {
    private var known: [Connection: (socket: Int32, since: UInt64)] = [:]

    var isEmpty: Bool { known.isEmpty }

    /// Takes a connection in, if nothing has come over it since the moment.
    func suspect(_ connection: Connection, on socket: Int32, since moment: UInt64, at now: UInt64) {
        guard Self.isSilent(socket, since: moment, at: now) else { return }
        known[connection] = (socket, moment)
    }

    /// Whether no request may go over it. Forgets it if something has come.
    func contains(_ connection: Connection, at now: UInt64) -> Bool {
        guard let (socket, moment) = known[connection] else { return false }
        if Self.isSilent(socket, since: moment, at: now) { return true }
        known[connection] = nil
        return false
    }

    /// Nothing is under way on a connection any more. libcurl finds it dead, and takes another the next time.
    func end(_ connection: Connection, at now: UInt64) {
        guard contains(connection, at: now), let (socket, _) = known.removeValue(forKey: connection) else { return }
        shutdown(socket, Int32(SHUT_RDWR))
    }

    /// The socket is about to be closed: its number may belong to another file the next moment.
    func closing(_ socket: Int32) {
        guard !isEmpty else { return }
        known = known.filter { $0.value.socket != socket }
    }

    private static func isSilent(_ socket: Int32, since moment: UInt64, at now: UInt64) -> Bool {
        let silence = ccurl_silence(socket) * 1_000_000
        return silence >= 0 && UInt64(silence) + CurlLimits.silenceError >= now - moment
    }
}
