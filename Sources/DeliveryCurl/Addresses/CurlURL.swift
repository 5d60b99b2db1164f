import CCurl

/// A webhook's URL, read by libcurl's own parser.
///
/// The registration of an endpoint and its delivery go through this one type, so no URL can mean one host to the
/// check and another to the connection: libcurl is handed the parsed parts, not the text.
/// Stricter than libcurl where leniency only hides mistakes: ASCII only (an international host is written in its
/// `xn--` form), exactly two slashes, no fragment. A fragment is refused rather than dropped, because
/// two registrations that differ in nothing else would be one and the same receiver.
package struct CurlURL: Hashable, Sendable {
    /// The URL as libcurl writes it: names in lower case, dot segments resolved, IPv4
    /// addresses in dotted form.
    package let text: String
    /// `http` or `https`.
    package let scheme: String
    /// Lower case; an IPv6 address is in brackets.
    package let host: String
    /// Filled in from the scheme if the URL names none.
    package let port: Int

    let handle: Handle

    /// Scheme, host and port: requests to the same origin share connections.
    package var origin: String { "\(scheme)://\(host):\(port)" }

    package init(parsing string: String) throws(EndpointURLError) {
        try Self.checkText(string)
        guard let pointer = curl_url() else { throw EndpointURLError(.malformed, "out of memory") }
        let handle = Handle(pointer)
        let code = curl_url_set(pointer, CURLUPART_URL, string, UInt32(CURLU_NON_SUPPORT_SCHEME))
        guard code == CURLUE_OK else { throw Self.refusal(of: code) }
        guard let scheme = handle.part(CURLUPART_SCHEME)?.lowercased() else { throw EndpointURLError(.malformed) }
        guard scheme == "http" || scheme == "https" else { throw EndpointURLError(.scheme) }
        try Self.checkParts(of: handle)
        guard let host = handle.part(CURLUPART_HOST)?.lowercased(), !host.isEmpty, host != "[]" else {
            throw EndpointURLError(.noHost)
        }
        // It was percent-encoded.
        guard host.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { throw Self.notASCII }
        // An address in brackets may have a zone, which setting it again would lose.
        if !host.hasPrefix("["), curl_url_set(pointer, CURLUPART_HOST, host, 0) != CURLUE_OK {
            throw EndpointURLError(.malformed)
        }
        guard let port = handle.part(CURLUPART_PORT, CURLU_DEFAULT_PORT).flatMap({ Int($0) }), port > 0,
            let text = handle.part(CURLUPART_URL)
        else { throw EndpointURLError(.malformed) }
        self.text = text
        self.scheme = scheme
        self.host = host
        self.port = port
        self.handle = handle
    }

    package static func == (one: CurlURL, other: CurlURL) -> Bool { one.text == other.text }

    package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension CurlURL {
    private static var notASCII: EndpointURLError {
        EndpointURLError(
            .malformed, "the URL must be ASCII: percent-encode its path, write an international host as xn--")
    }

    /// Checks of the bytes alone.
    private static func checkText(_ string: String) throws(EndpointURLError) {
        let bytes = string.utf8
        guard bytes.count <= CurlLimits.urlBytes else { throw EndpointURLError(.tooLong) }
        guard !bytes.contains(where: { $0 <= 0x20 || $0 == 0x7F }) else { throw EndpointURLError(.controlCharacters) }
        guard !bytes.contains(where: { $0 >= 0x80 }) else {
            throw notASCII
        }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { throw EndpointURLError(.malformed) }
        let scheme = string[..<colon].lowercased()
        guard scheme == "http" || scheme == "https" else {
            // `host:8080/path` has no scheme, `ftp://host` has the wrong one.
            throw EndpointURLError(bytes[colon...].starts(with: "://".utf8) ? .scheme : .malformed)
        }
        guard bytes[colon...].starts(with: "://".utf8) else { throw EndpointURLError(.malformed) }
        // libcurl takes `http:///host` for `http://host`.
        let authority = bytes[colon...].dropFirst(3).prefix { !"/?#".utf8.contains($0) }
        guard !authority.contains(UInt8(ascii: "@")) else { throw EndpointURLError(.credentials) }
        guard !authority.isEmpty else { throw EndpointURLError(.noHost) }
        guard !bytes.contains(UInt8(ascii: "#")) else { throw EndpointURLError(.fragment) }
    }

    /// Checks of the parts that libcurl found.
    private static func checkParts(of handle: Handle) throws(EndpointURLError) {
        guard handle.part(CURLUPART_USER) == nil, handle.part(CURLUPART_PASSWORD) == nil else {
            throw EndpointURLError(.credentials)
        }
        guard handle.part(CURLUPART_FRAGMENT) == nil else { throw EndpointURLError(.fragment) }
    }

    private static func refusal(of code: CURLUcode) -> EndpointURLError {
        switch code {
        case CURLUE_NO_HOST: EndpointURLError(.noHost)
        case CURLUE_UNSUPPORTED_SCHEME, CURLUE_BAD_SCHEME: EndpointURLError(.scheme)
        case CURLUE_USER_NOT_ALLOWED, CURLUE_BAD_LOGIN, CURLUE_BAD_USER, CURLUE_BAD_PASSWORD:
            EndpointURLError(.credentials)
        default:
            EndpointURLError(
                .malformed, "the URL cannot be parsed: \(String(cString: curl_url_strerror(code)).lowercased())")
        }
    }

    /// Owns libcurl's parsed form.
    ///
    /// Safety: a pointer of C's cannot be proven Sendable. It is set once before it is shared and never written again;
    /// libcurl reads such a handle and does not change it (CURLOPT_CURLU), and `curl_url_get` allocates its result.
    final class Handle: @unchecked Sendable {
        let pointer: OpaquePointer

        init(_ pointer: OpaquePointer) { self.pointer = pointer }

        deinit { curl_url_cleanup(pointer) }

        /// A part, or nil if the URL has none.
        func part(_ part: CURLUPart, _ flags: Int32 = 0) -> String? {
            var found: UnsafeMutablePointer<CChar>?
            guard curl_url_get(pointer, part, &found, UInt32(flags)) == CURLUE_OK, let found else { return nil }
            defer { curl_free(found) }
            return String(cString: found)
        }
    }
}
