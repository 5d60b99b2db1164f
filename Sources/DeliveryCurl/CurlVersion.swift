import CCurl

/// The libcurl that this process runs with, which may be another than the one it was compiled against.
package struct CurlVersion: Hashable, Sendable {
    /// Oldest libcurl that has every option set here (CURLOPT_QUICK_EXIT is the youngest), as `0xMMmmpp`.
    package static let oldest = 0x07_57_00

    package var text: String
    package var number: Int
    /// The TLS library and its version; nil without TLS.
    package var tlsLibrary: String?
    package var hasHTTP2: Bool
    /// Without it a slow name server stops every transfer.
    package var resolvesAsynchronously: Bool
    /// Whether `curl_global_init` may race with other users of libcurl in the process.
    package var initialisesThreadSafely: Bool

    package static var current: CurlVersion {
        guard let information = ccurl_version()?.pointee else {
            preconditionFailure("curl_version_info returned nothing")
        }
        func has(_ feature: Int32) -> Bool { information.features & feature != 0 }
        return CurlVersion(
            text: information.version.map { String(cString: $0) } ?? "unknown",
            number: Int(information.version_num),
            tlsLibrary: has(CURL_VERSION_SSL) ? information.ssl_version.map { String(cString: $0) } : nil,
            hasHTTP2: has(CURL_VERSION_HTTP2),
            resolvesAsynchronously: has(CURL_VERSION_ASYNCHDNS),
            initialisesThreadSafely: has(CURL_VERSION_THREADSAFE))
    }

    /// One line for the log at start-up.
    package static func describe() -> String { current.description }

    /// Why this libcurl cannot be used, or nil.
    package var unsuitable: String? {
        if number < Self.oldest { return "libcurl \(text) is older than 7.87.0" }
        if tlsLibrary == nil { return "libcurl \(text) was built without TLS" }
        if !resolvesAsynchronously { return "libcurl \(text) was built without an asynchronous resolver" }
        return nil
    }
}

extension CurlVersion: CustomStringConvertible {
    package var description: String {
        let tls = tlsLibrary ?? "no TLS"
        let http2 = hasHTTP2 ? "HTTP/2" : "no HTTP/2"
        let resolver = resolvesAsynchronously ? "asynchronous resolver" : "blocking resolver"
        return "libcurl \(text), \(tls), \(http2), \(resolver)"
    }
}

/// libcurl's process-wide state: made once, at the first transport, and never taken down, because other parts of the
/// process may use libcurl too.
enum CurlProcess {
    static let initialisation: CURLcode = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
}
