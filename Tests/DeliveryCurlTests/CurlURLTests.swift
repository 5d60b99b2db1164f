import DeliveryCurl
import Testing

/// Which URLs an endpoint may have.
struct CurlURLTests {
    struct Good: Sendable {
        var text: String
        var scheme = "https"
        var host: String
        var port = 443
        var normalised: String?
    }

    @Test(arguments: [
        Good(text: "https://example.com/hook?a=b&c=%20", host: "example.com"),
        Good(
            text: "http://example.com", scheme: "http", host: "example.com", port: 80,
            normalised: "http://example.com/"),
        Good(text: "HTTPS://Example.COM/Path", host: "example.com", normalised: "https://example.com/Path"),
        Good(text: "https://example.com:8443/", host: "example.com", port: 8443),
        Good(text: "https://example.com:/", host: "example.com", normalised: "https://example.com/"),
        Good(text: "http://[::1]:8080/", scheme: "http", host: "[::1]", port: 8080),
        Good(text: "http://[FE80::1]/", scheme: "http", host: "[fe80::1]", port: 80),
        // The many ways to write one address are one address.
        Good(text: "http://127.0.0.1/", scheme: "http", host: "127.0.0.1", port: 80),
        Good(text: "http://2130706433/", scheme: "http", host: "127.0.0.1", port: 80, normalised: "http://127.0.0.1/"),
        Good(text: "http://0x7f.1/", scheme: "http", host: "127.0.0.1", port: 80, normalised: "http://127.0.0.1/"),
        Good(text: "http://0177.0.0.1/", scheme: "http", host: "127.0.0.1", port: 80, normalised: "http://127.0.0.1/"),
        Good(text: "https://example.com/a/../b/./c", host: "example.com", normalised: "https://example.com/b/c"),
        Good(text: "https://xn--bcher-kva.example/", host: "xn--bcher-kva.example"),
        Good(text: "https://example.com/@user:pass", host: "example.com"),
        Good(text: "https://example.com?q=a@b", host: "example.com", normalised: "https://example.com/?q=a@b"),
        Good(text: "https://a_b.example/", host: "a_b.example"),
    ])
    func accepted(_ good: Good) throws {
        let url = try CurlURL(parsing: good.text)
        #expect(url.scheme == good.scheme)
        #expect(url.host == good.host)
        #expect(url.port == good.port)
        #expect(url.text == good.normalised ?? good.text)
        #expect(url.origin == "\(good.scheme)://\(good.host):\(good.port)")
    }

    @Test(arguments: [
        ("", EndpointURLError.Code.malformed), ("example.com", .malformed), ("example.com/hook", .malformed),
        ("localhost:8080/hook", .malformed), ("//example.com/", .malformed), ("/hook", .malformed),
        ("https:example.com", .malformed), ("https:/example.com/", .malformed), ("://example.com/", .scheme),
        ("https://exa mple.com/", .controlCharacters), (" https://example.com/", .controlCharacters),
        ("https://example.com/\r\nX: y", .controlCharacters), ("https://example.com/\n", .controlCharacters),
        ("https://example.com/\u{0}", .controlCharacters), ("https://example.com/\t", .controlCharacters),
        ("https://example.com/\u{7F}", .controlCharacters), ("https://b\u{FC}cher.example/", .malformed),
        ("https://example.com/\u{E9}", .malformed), ("ftp://example.com/", .scheme), ("file:///etc/passwd", .scheme),
        ("gopher://example.com/", .scheme), ("ws://example.com/", .scheme), ("javascript:alert(1)", .malformed),
        ("https://user@example.com/", .credentials), ("https://user:pw@example.com/", .credentials),
        ("https://@example.com/", .credentials), ("https://:@example.com/", .credentials),
        ("https://example.com@evil.example/", .credentials), ("https://", .noHost), ("https:///hook", .noHost),
        ("https://?q", .noHost), ("https://:443/", .noHost), ("https://#x", .noHost),
        ("https://example.com/#there", .fragment), ("https://example.com#", .fragment),
        ("https://example.com:0/", .malformed), ("https://example.com:65536/", .malformed),
        ("https://example.com:x/", .malformed), ("https://[::1/", .malformed), ("https://[nonsense]/", .malformed),
        ("https://exa%00mple.com/", .malformed), ("https://exa%0d%0ample.com/", .malformed),
        ("https://evil.example\\.good.example/", .malformed), ("https://a<b>.example/", .malformed),
        ("https://example.com/" + String(repeating: "a", count: 2048), .tooLong),
    ])
    func refused(_ text: String, code: EndpointURLError.Code) {
        #expect(throws: EndpointURLError.self) { try CurlURL(parsing: text) }
        do {
            _ = try CurlURL(parsing: text)
        } catch {
            #expect(error.code == code)
            #expect(!error.message.contains("pw"))
        }
    }

    @Test func lengthIsCountedInBytes() throws {
        let longest = "https://example.com/" + String(repeating: "a", count: 2028)
        #expect(try CurlURL(parsing: longest).text == longest)
        #expect(throws: EndpointURLError.self) { try CurlURL(parsing: longest + "a") }
    }

    @Test func equalURLsAreOne() throws {
        let urls = try ["http://example.com/a/../b", "http://EXAMPLE.com:/b"].map { try CurlURL(parsing: $0) }
        #expect(Set(urls).count == 1)
    }

    @Test func everyCodeIsStableAndExplained() {
        #expect(
            EndpointURLError.Code.allCases.map(\.rawValue) == [
                "endpoint-url-malformed", "endpoint-url-scheme", "endpoint-url-credentials",
                "endpoint-url-control-characters", "endpoint-url-too-long", "endpoint-url-no-host",
                "endpoint-url-fragment",
            ])
        do {
            _ = try CurlURL(parsing: "https://user:pw@example.com/")
        } catch {
            #expect(
                error.description
                    == "endpoint-url-credentials: the URL must not hold a user name or password; use a header")
        }
    }
}
