import Glibc

/// A listening socket that the service manager has bound for this process: sd_listen_fds(3).
package struct ActivationSocket: Hashable, Sendable {
    /// Sockets that cannot be served.
    package struct Fault: Error, CustomStringConvertible {
        package let description: String
    }

    /// The first descriptor that service managers pass.
    private static let first: Int32 = 3

    package let descriptor: Int32

    /// Nil if no socket was passed to this process.
    ///
    /// - Parameter process: The id of this process: variables of a parent are not for its children.
    /// - Throws: ``Fault`` if there are several sockets, or a socket that does not listen.
    package init?(environment: [String: String], process: Int32) throws(Fault) {
        guard environment["LISTEN_PID"] == "\(process)", let text = environment["LISTEN_FDS"], text != "0" else {
            return nil
        }
        guard text == "1" else {
            throw Fault(description: "LISTEN_FDS is \(text): the daemon serves one socket, not several.")
        }
        descriptor = Self.first
        var (isListening, length): (Int32, socklen_t) = (0, socklen_t(MemoryLayout<Int32>.size))
        guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &length) == 0, isListening == 1 else {
            throw Fault(description: "LISTEN_FDS names a descriptor that is no listening stream socket.")
        }
        // Processes of plugins do not inherit it.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }
}
