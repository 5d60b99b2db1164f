import HTTPTypes

/// Keeps the web out of development mode, in which whoever reaches the daemon may do everything.
///
/// Only this machine reaches it then, and a browser on this machine sends what any page tells it to send. It cannot send it
/// under a false name: a page of another site is named in `Origin`, and one whose own name was made to lead to loopback (DNS
/// rebinding) is named in `Host`. So both have to name this machine, if they are there. With keys there is nothing to guard:
/// a page does not know them.
package enum BrowserGuard {
    /// Why a request is refused; nil if it may be taken.
    ///
    /// - Parameters:
    ///   - host: The header `Host`, or what stands for it in the request; RFC 9110, 7.2.
    ///   - origin: The header `Origin`; RFC 6454, 7.
    package static func refusal(host: String?, origin: String?) -> Problem? {
        if let host, !isLocal(host) {
            return Problem(
                .misdirectedRequest, "host-not-local",
                "Without API keys the daemon is for this machine alone: call it as localhost, or configure apiKeys.")
        }
        if let origin, !isLocal(origin: origin) {
            return Problem(
                .forbidden, "origin-not-local",
                "Without API keys the daemon takes nothing from pages of other machines: configure apiKeys.")
        }
        return nil
    }

    /// `null`, which hides where a page comes from, is no name of this machine.
    private static func isLocal(origin: String) -> Bool {
        guard let scheme = origin.firstRange(of: "://") else { return false }
        return isLocal(String(origin[scheme.upperBound...]))
    }

    /// A host, perhaps with a port. Names under `localhost` lead to loopback wherever they are asked for (RFC 6761, 6.3).
    private static func isLocal(_ authority: String) -> Bool {
        var host = authority[...]
        if let colon = host.lastIndex(of: ":"), !host.hasSuffix("]") {
            guard host[colon...].dropFirst().utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) else {
                return false
            }
            host = host[..<colon]
        }
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        let name = host.lowercased()
        return ListenAddress(host: name, port: 0).isLoopback || name.hasSuffix(".localhost")
    }
}
