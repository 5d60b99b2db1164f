import Glibc
import NIOCore

/// An address that a server cannot listen on.
package struct ListenFailure: Error, CustomStringConvertible {
    package let address: ListenAddress
    /// The system's error number; nil if the host's name could not be looked up.
    private let errnoCode: CInt?

    /// The listen failure behind an error of a started server; nil if the error has another cause.
    package init?(_ error: any Error, at address: ListenAddress) {
        switch error {
        case let error as IOError: errnoCode = error.errnoCode
        case is SocketAddressError: errnoCode = nil
        default: return nil
        }
        self.address = address
    }

    package var description: String { "cannot listen on \(address.shown(port: address.port)): \(reason)" }

    private var reason: String {
        switch errnoCode {
        case EADDRINUSE:
            "another program listens there. Stop it, or choose another port; port 0 picks a free one."
        case EACCES, EPERM:
            "the system does not allow it. Ports below 1024 need a privilege; choose a higher one."
        case EADDRNOTAVAIL: "this machine does not have the address."
        case nil: "the host's name cannot be looked up."
        case let code?: "\(String(cString: strerror(code)))."
        }
    }
}
