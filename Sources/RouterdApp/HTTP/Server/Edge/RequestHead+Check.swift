import HTTPTypes
package import NIOHTTP1

/// Checks that the parser does not make and a server must: RFC 9112 and 9110 by section.
extension HTTPRequestHead {
    /// The reason to refuse the request before any other check; nil if it is valid.
    package var fault: Problem? {
        hostFault ?? transferFault ?? expectationFault
    }

    /// 9112, 3.2: exactly one Host, with a valid host; in an absolute target the same.
    private var hostFault: Problem? {
        let hosts = headers["host"]
        if hosts.count > 1 {
            return Problem(.badRequest, "host-repeated", "A request names one host; this one has \(hosts.count).")
        }
        guard let host = hosts.first else {
            if isOfHTTP10 { return nil }
            return Problem(.badRequest, "host-missing", "A request of HTTP/1.1 must have the header Host.")
        }
        let isHost = host.utf8.allSatisfy { (0x21...0x7E).contains($0) && !Self.notInHosts.contains($0) }
        guard isHost else { return Problem(.badRequest, "host-invalid", "The header Host does not name a host.") }
        if let authority = authorityOfTarget, authority.lowercased() != host.lowercased() {
            return Problem(
                .badRequest, "host-invalid", "The target of the request names another host than the header Host.")
        }
        return nil
    }

    /// 9112, 3.2.2: the host of a target in absolute form takes precedence over the header. A request in which they
    /// differ is refused.
    private var authorityOfTarget: Substring? {
        guard !uri.hasPrefix("/"), let scheme = uri.firstRange(of: "://") else { return nil }
        return uri[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" }
    }

    /// 9112, 6.1: HTTP/1.0 has no transfer codings, and a message with one is ambiguous. In HTTP/1.1 an unknown coding
    /// is refused: the parser looks at the last one only, and would pass on a body that is coded twice.
    private var transferFault: Problem? {
        let codings = headers["transfer-encoding"]
        guard !codings.isEmpty else { return nil }
        if isOfHTTP10 {
            return Problem(
                .badRequest, "transfer-encoding-not-allowed", "A request of HTTP/1.0 cannot have Transfer-Encoding.")
        }
        guard codings.count == 1, codings[0].lowercased() == "chunked" else {
            return Problem(
                .notImplemented, "transfer-encoding-unknown", "The only Transfer-Encoding that is taken is chunked.")
        }
        return nil
    }

    /// 9110, 10.1.1: there is one expectation; in HTTP/1.0 there is none.
    private var expectationFault: Problem? {
        guard !isOfHTTP10, !headers["expect"].allSatisfy(Self.isContinue) else { return nil }
        return Problem(.expectationFailed, "expectation-unknown", "The only expectation that is met is 100-continue.")
    }

    /// Whether the client waits for `100 Continue` before it sends the body.
    var expectsContinue: Bool { !isOfHTTP10 && headers.contains(name: "expect") }

    /// Whether another request may follow. None follows HTTP/1.0, and after an upgrade the parser reads no more.
    var keepsAlive: Bool { !isOfHTTP10 && isKeepAlive && !headers.contains(name: "upgrade") && method != .CONNECT }

    /// The body's length as declared in the headers; nil without one.
    var declaredLength: Int? {
        guard !headers.contains(name: "transfer-encoding") else { return nil }
        return headers.first(name: "content-length").map { Int($0) ?? .max } ?? 0
    }

    /// Whether the request is a health check, which is answered even when no other request is.
    package var isHealthCheck: Bool {
        guard method == .GET || method == .HEAD else { return false }
        let path = uri.prefix { $0 != "?" }
        return path == "/healthz" || path == "/readyz"
    }

    /// The parser accepts only versions that begin with 1.
    private var isOfHTTP10: Bool { version.minor == 0 }

    private static let notInHosts = Set(#",/\?#@<>""#.utf8)

    private static func isContinue(_ value: String) -> Bool { value.lowercased() == "100-continue" }
}
