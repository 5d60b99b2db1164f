import HTTPTypes
import RouterdApp
import Testing

@testable import DaemonTesting

/// Requests that development mode accepts, and requests that a web page may have caused.
@Suite("Browser guard")
struct BrowserGuardTests {
    @Test(
        arguments: [
            "localhost", "localhost:8080", "LOCALHOST:8080", "routerd.localhost:80", "127.0.0.1", "127.0.0.1:8080",
            "127.9.8.7:1", "[::1]", "[::1]:8080",
        ])
    func thisMachineMayBeNamed(_ host: String) {
        #expect(BrowserGuard.refusal(host: host, origin: nil) == nil)
        #expect(BrowserGuard.refusal(host: nil, origin: "http://\(host)") == nil)
        #expect(BrowserGuard.refusal(host: host, origin: "https://\(host)") == nil)
    }

    @Test(
        arguments: [
            "rebound.example", "rebound.example:8080", "localhost.rebound.example", "127.0.0.1.rebound.example:8080",
            "notlocalhost", "128.0.0.1", "10.0.0.1:8080", "[::2]:8080", "[::ffff:10.0.0.1]", "127.1", "", ":8080",
            "localhost:x@rebound.example",
        ])
    func othersMayNot(_ host: String) {
        #expect(BrowserGuard.refusal(host: host, origin: nil)?.code == "host-not-local")
        let refusal = BrowserGuard.refusal(host: "localhost", origin: "http://\(host)")
        #expect(refusal?.code == "origin-not-local" && refusal?.status == .forbidden)
    }

    @Test(arguments: ["null", "", "localhost", "file://", "://"])
    func anOriginHasToBeNamed(_ origin: String) {
        #expect(BrowserGuard.refusal(host: "localhost", origin: origin)?.code == "origin-not-local")
    }

    @Test("A GET that another site's page has caused is refused although it has no Origin")
    func crossSite() {
        for site in ["cross-site", "Cross-Site"] {
            #expect(BrowserGuard.refusal(host: "localhost", origin: nil, site: site)?.code == "origin-not-local")
        }
        for site in ["none", "same-origin", "same-site", nil] {
            #expect(BrowserGuard.refusal(host: "localhost", origin: nil, site: site) == nil)
        }
        // A page of this machine may call under its other names.
        let local = "http://localhost:3000"
        #expect(BrowserGuard.refusal(host: "127.0.0.1:8080", origin: local, site: "cross-site") == nil)
    }

    /// Programs that are no browsers send no Origin, and in HTTP/1.0 no Host.
    @Test func optionalFieldsMayBeLeftOut() {
        #expect(BrowserGuard.refusal(host: nil, origin: nil) == nil)
    }
}
