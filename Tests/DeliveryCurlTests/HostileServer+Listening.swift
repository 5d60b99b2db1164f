import Foundation
import Glibc

/// Sockets on loopback.
extension HostileServer {
    /// Takes a port, and listens there unless there is no backlog; returns the port.
    static func listen(_ listener: Int32, at host: Host, port: Int, backlog: Int32?) throws -> Int {
        var address = loopback(port: port)
        inet_pton(AF_INET, host.rawValue, &address.sin_addr)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                if bind(listener, generic, size) != 0 { return Int32(-1) }
                if let backlog, Glibc.listen(listener, backlog) != 0 { return -1 }
                return getsockname(listener, generic, &size)
            }
        }
        guard code == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    static func listenV6(_ listener: Int32, _ backlog: Int32) throws -> Int {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_addr = in6addr_loopback
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                if bind(listener, generic, size) != 0 || Glibc.listen(listener, backlog) != 0 { return Int32(-1) }
                return getsockname(listener, generic, &size)
            }
        }
        guard code == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        return Int(UInt16(bigEndian: address.sin6_port))
    }

    /// Whether this machine has `::1`.
    static let hasV6: Bool = {
        guard let server = try? HostileServer(at: .v6, { _ in }) else { return false }
        server.stop()
        return true
    }()

    static func loopback(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}
