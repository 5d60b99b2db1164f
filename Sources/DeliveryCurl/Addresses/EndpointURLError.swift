/// Why a URL cannot be a webhook's.
///
/// It never quotes the URL: it may hold a secret in its query or its user part.
package struct EndpointURLError: Error, Hashable, Sendable {
    /// The reasons; the raw values are stable and part of the HTTP API's errors.
    package enum Code: String, CaseIterable, Hashable, Sendable {
        case malformed = "endpoint-url-malformed"
        case scheme = "endpoint-url-scheme"
        case credentials = "endpoint-url-credentials"
        case controlCharacters = "endpoint-url-control-characters"
        case tooLong = "endpoint-url-too-long"
        case noHost = "endpoint-url-no-host"
        case fragment = "endpoint-url-fragment"
    }

    package var code: Code
    /// One line for people.
    package var message: String

    init(_ code: Code, _ message: String? = nil) {
        self.code = code
        self.message = message ?? Self.explanation(of: code)
    }

    private static func explanation(of code: Code) -> String {
        switch code {
        case .malformed: "the URL cannot be parsed"
        case .scheme: "the URL's scheme must be http or https"
        case .credentials: "the URL must not hold a user name or password; use a header"
        case .controlCharacters: "the URL must not hold spaces or control characters"
        case .tooLong: "the URL is longer than \(CurlLimits.urlBytes) bytes"
        case .noHost: "the URL names no host"
        case .fragment: "the URL must not have a fragment ('#'): it would never be sent"
        }
    }
}

extension EndpointURLError: CustomStringConvertible {
    package var description: String { "\(code.rawValue): \(message)" }
}
