import HTTPTypes

/// Keeps web pages out of development mode, in which every client that reaches the daemon may do everything.
///
/// Only this machine reaches the daemon then, but a browser on this machine sends the requests that any page asks for.
/// The browser names the page truthfully: `Origin` names a page of another site, and `Host` names a page whose own name
/// was made to resolve to loopback (DNS rebinding). So both have to name this machine, if they are present. With API
/// keys there is nothing to guard: a page does not know them.
package enum BrowserGuard {
    /// The reason to refuse a request; nil if it is accepted.
    ///
    /// - Parameters:
    ///   - host: The header `Host`, or its equivalent in the request; RFC 9110, 7.2.
    ///   - origin: The header `Origin`; RFC 6454, 7.
    ///   - site: The header `Sec-Fetch-Site`; W3C Fetch Metadata, 2.2. A browser sends no `Origin` with a GET for an image or
    ///     a script, but says here that another site's page has asked for it.
    package static func refusal(host: String?, origin: String?, site: String? = nil) -> Problem? {
        if let host, !isLocal(host) {
            return Problem(
                .misdirectedRequest, "host-not-local",
                "Without API keys the daemon is for this machine alone: call it as localhost, or configure apiKeys.")
        }
        let isForeign = origin.map { !isLocal(origin: $0) } ?? (site?.lowercased() == "cross-site")
        guard isForeign else { return nil }
        return Problem(
            .forbidden, "origin-not-local",
            "Without API keys the daemon takes nothing from pages of other machines: configure apiKeys.")
    }

    /// Why a request is refused; nil if it may be taken.
    static func refusal(of head: HTTPRequest) -> Problem? {
        refusal(
            host: head.authority, origin: head.headerFields[.origin], site: fetchSite.flatMap { head.headerFields[$0] })
    }

    private static let fetchSite = HTTPField.Name("Sec-Fetch-Site")

    /// `null`, which hides where a page comes from, is no name of this machine.
    private static func isLocal(origin: String) -> Bool {
        guard let scheme = origin.firstRange(of: "://") else { return false }
        return isLocal(String(origin[scheme.upperBound...]))
    }

    /// A host, perhaps with a port. Names under `localhost` resolve to loopback everywhere (RFC 6761, 6.3).
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
