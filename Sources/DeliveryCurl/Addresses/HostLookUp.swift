import Glibc
import Router

/// The answer of the system's resolver for a name.
enum HostLookUp: Hashable, Sendable {
    /// In the order in which they are to be tried, as numbers; IPv6 in brackets.
    case addresses([String])
    /// There are none, or no name server has answered; with the reason, for people.
    case failed(String)
    /// This machine had no thread, socket or memory for it.
    case noMeans(String)

    /// Nil if it says nothing of the name.
    var isFound: Bool? {
        switch self {
        case .addresses: true
        case .failed: false
        case .noMeans: nil
        }
    }

    /// Whether the host needs a look-up: libcurl knows addresses and `localhost` by itself.
    static func isNeeded(for host: String) -> Bool {
        if host.utf8.first == UInt8(ascii: "[") || host == "localhost" || host.hasSuffix(".localhost") { return false }
        return IPAddress(urlHost: host) == nil
    }

    /// Asks the system's resolver. Blocks the calling thread for as long as that takes: minutes, if it is set up so.
    static func ask(_ name: String) -> HostLookUp {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        errno = 0
        let code = getaddrinfo(name, nil, &hints, &found)
        let reason = errno
        defer { if let found { freeaddrinfo(found) } }
        guard code == 0 else { return failure(code, reason) }
        var texts: [String] = []
        var next = found
        while let entry = next?.pointee, texts.count < CurlLimits.addressesPerName {
            if let text = text(of: entry), !texts.contains(text) { texts.append(text) }
            next = entry.ai_next
        }
        return texts.isEmpty ? .failed("no addresses") : .addresses(texts)
    }

    /// The resolver says "try again" to an answer that did not come and to a socket that it did not get alike. So
    /// whether there are sockets is seen by opening one.
    private static func failure(_ code: Int32, _ reason: Int32) -> HostLookUp {
        let text = String(cString: gai_strerror(code))
        if code == EAI_MEMORY || (code == EAI_SYSTEM && isShortage(reason)) { return .noMeans(text) }
        guard code == EAI_AGAIN || code == EAI_SYSTEM else { return .failed(text) }
        let probe = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard probe < 0 else {
            close(probe)
            return .failed(text)
        }
        return isShortage(errno) ? .noMeans(String(cString: strerror(errno))) : .failed(text)
    }

    private static func isShortage(_ code: Int32) -> Bool { [EMFILE, ENFILE, ENOBUFS, ENOMEM, EAGAIN].contains(code) }

    private static func text(of entry: addrinfo) -> String? {
        guard let address = entry.ai_addr else { return nil }
        switch entry.ai_family {
        case AF_INET:
            return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { address in
                withUnsafeBytes(of: address.pointee.sin_addr) { IPAddress(bytes: Array($0))?.description }
            }
        case AF_INET6:
            return address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { address in
                withUnsafeBytes(of: address.pointee.sin6_addr) { IPAddress(bytes: Array($0)).map { "[\($0)]" } }
            }
        default: return nil
        }
    }
}
