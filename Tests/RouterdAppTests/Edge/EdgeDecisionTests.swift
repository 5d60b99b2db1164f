import NIOCore
import NIOHTTP1
import Router
import RouterPlugin
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// The decisions of the ingest edge, as values.
@Suite("Edge decisions")
struct EdgeDecisionTests {
    private static let one = IPAddress.v4(192, 0, 2, 1)
    private static let other = IPAddress.v4(192, 0, 2, 2)

    // MARK: Connections

    @Test func connectionsAreCountedForAllAndForEach() {
        var book = ConnectionBook(connections: 3, perAddress: 2)
        #expect(book.open(from: Self.one) == .served)
        #expect(book.open(from: Self.one) == .served)
        #expect(book.open(from: Self.one) == .tooManyOfAddress)
        #expect(book.open(from: Self.other) == .served)
        #expect(book.open(from: Self.other) == .tooMany)
        #expect(book.served == 3)
        book.close(from: Self.one, .tooManyOfAddress)
        #expect(book.open(from: Self.one) == .tooMany, "the closed connection was none of the served")
        book.close(from: Self.one, .served)
        #expect(book.open(from: Self.other) == .served)
    }

    @Test(
        "A full daemon serves an address that has fewer connections, in place of an idle one of the address with the most"
    )
    func addressesShare() {
        var book = ConnectionBook(connections: 4, perAddress: 4, tooMany: 4)
        var relieved: IPAddress??
        for _ in 0..<4 {
            #expect(book.open(from: Self.one, relieving: &relieved) == .served)
            #expect(relieved == nil)
        }
        #expect(book.open(from: Self.other, relieving: &relieved) == .served)
        #expect(relieved == .some(Self.one))
        book.close(from: Self.one, .served)
        #expect(book.open(from: Self.other, relieving: &relieved) == .served)
        #expect(relieved == .some(Self.one))
        // Three and two: the next one would only turn that round.
        #expect(book.open(from: Self.other, relieving: &relieved) == .tooMany)
        #expect(relieved == nil)
        // Half of the connections beyond the limit are served at most, before others have closed.
        let third = IPAddress.v4(192, 0, 2, 3)
        #expect(book.open(from: third, relieving: &relieved) == .served)
        #expect(relieved == .some(Self.one) && book.served == 6)
        #expect(book.open(from: nil, relieving: &relieved) == .tooMany)
        // The served ones beyond the limit and the refused ones are four together.
        #expect(book.open(from: nil, relieving: &relieved) == .turnedAway)
    }

    @Test("A book without connections for refusals serves none beyond its limit")
    func noneBeyond() {
        var book = ConnectionBook(connections: 1, perAddress: 1, tooMany: 0)
        #expect(book.open(from: Self.one) == .served)
        #expect(book.open(from: Self.other) == .turnedAway)
    }

    @Test func tooManyObserversAreRefused() {
        var book = ConnectionBook(connections: 0, perAddress: 1)
        for _ in 0..<DaemonLimits.connectionsTurnedAwayPerAddress { #expect(book.open(from: Self.one) == .tooMany) }
        #expect(book.open(from: Self.one) == .turnedAway)
        #expect(book.open(from: Self.other) == .tooMany, "another address still hears how the daemon is")
        book.close(from: Self.one, .tooMany)
        #expect(book.open(from: Self.one) == .tooMany)

        var addresses: UInt32 = 0
        while book.open(from: .v4(addresses)) == .tooMany { addresses += 1 }
        #expect(Int(addresses) + DaemonLimits.connectionsTurnedAwayPerAddress + 1 == DaemonLimits.connectionsTurnedAway)

        var small = ConnectionBook(connections: 0, perAddress: 1, tooMany: 2)
        #expect((0..<3).map { _ in small.open(from: Self.one) } == [.tooMany, .tooMany, .turnedAway])
    }

    /// The book is only as long as the list of open connections, whatever their addresses.
    @Test func aClientThatHasGoneIsForgotten() {
        var book = ConnectionBook(connections: 1000, perAddress: 2)
        let addresses = (0..<100).map { IPAddress.v4(UInt32($0)) }
        for address in addresses { #expect(book.open(from: address) == .served) }
        #expect(book.addresses == 100)
        for address in addresses { book.close(from: address, .served) }
        #expect(book.addresses == 0 && book.served == 0)
        book.close(from: Self.one, .turnedAway)
        #expect(book == ConnectionBook(connections: 1000, perAddress: 2))
    }

    @Test func aNetworkOfIPv6IsOneHolder() throws {
        let host = try #require(IPAddress("2001:db8:1:2:3::4"))
        #expect(host.holder == IPAddress("2001:db8:1:2::"))
        #expect(try #require(IPAddress("2001:db8:1:3::")).holder != host.holder)
        #expect(try #require(IPAddress("::ffff:192.0.2.1")).holder == Self.one)
        #expect(Self.one.holder == Self.one)
    }

    // MARK: Rates

    private static func at(_ milliseconds: Int64) -> NIODeadline {
        .uptimeNanoseconds(1_000_000_000_000) + .milliseconds(milliseconds)
    }

    @Test func aSecondsWorthMayComeAtOnce() {
        var rates = RequestRates<Int>()
        for _ in 0..<4 { #expect(rates.take(1, perSecond: 4, at: Self.at(0)) == .taken) }
        #expect(rates.take(1, perSecond: 4, at: Self.at(0)) == .refused(retryAfter: 1))
        #expect(rates.take(2, perSecond: 4, at: Self.at(0)) == .taken, "each has a rate of its own")
        #expect(rates.take(1, perSecond: 4, at: Self.at(249)) == .refused(retryAfter: 1))
        #expect(rates.take(1, perSecond: 4, at: Self.at(250)) == .taken)
        #expect(rates.take(1, perSecond: 4, at: Self.at(250)) == .refused(retryAfter: 1))
    }

    @Test func inTheLongRunTheRateHolds() {
        var rates = RequestRates<Int>()
        let taken = (0..<10_000).filter { rates.take(1, perSecond: 100, at: Self.at(Int64($0))) == .taken }
        #expect(taken.count == 100 + 999, "a second's worth, and then 100 in each of ten seconds")
    }

    @Test func ratesOfTheQuietAreForgotten() {
        var rates = RequestRates<Int>(maximumKeys: 3)
        for key in 1...3 { #expect(rates.take(key, perSecond: 1, at: Self.at(0)) == .taken) }
        #expect(rates.take(4, perSecond: 1, at: Self.at(500)) == .taken, "no client is refused for want of room")
        #expect(rates.take(4, perSecond: 1, at: Self.at(500)) == .taken)
        #expect(rates.count == 3)
        #expect(rates.take(4, perSecond: 1, at: Self.at(2000)) == .taken)
        #expect(rates.count == 1)
        #expect(rates.take(4, perSecond: 1, at: Self.at(2000)) == .refused(retryAfter: 1))
    }

    // MARK: Heads

    private static let heads: [(name: String, version: HTTPVersion, headers: [(String, String)], code: String?)] = [
        ("one host", .http1_1, [("Host", "a")], nil),
        ("a host with a port", .http1_1, [("Host", "[::1]:8080")], nil),
        ("an empty host", .http1_1, [("Host", "")], nil),
        ("no host", .http1_1, [], "host-missing"),
        ("no host in 1.0", .http1_0, [], nil),
        ("two hosts", .http1_1, [("Host", "a"), ("host", "a")], "host-repeated"),
        ("two hosts in 1.0", .http1_0, [("Host", "a"), ("host", "b")], "host-repeated"),
        ("hosts in one header", .http1_1, [("Host", "a, b")], "host-invalid"),
        ("user information before a host", .http1_1, [("Host", "a@b")], "host-invalid"),
        ("a host and a path", .http1_1, [("Host", "a/b")], "host-invalid"),
        ("a host that is not ASCII", .http1_1, [("Host", "é")], "host-invalid"),
        ("chunks", .http1_1, [("Host", "a"), ("Transfer-Encoding", "chunked")], nil),
        ("chunks in capitals", .http1_1, [("Host", "a"), ("Transfer-Encoding", "Chunked")], nil),
        (
            "a coding and chunks", .http1_1, [("Host", "a"), ("Transfer-Encoding", "gzip, chunked")],
            "transfer-encoding-unknown"
        ),
        (
            "a coding, then chunks", .http1_1,
            [("Host", "a"), ("Transfer-Encoding", "gzip"), ("Transfer-Encoding", "chunked")],
            "transfer-encoding-unknown"
        ),
        ("chunks in 1.0", .http1_0, [("Transfer-Encoding", "chunked")], "transfer-encoding-not-allowed"),
        ("an expectation", .http1_1, [("Host", "a"), ("Expect", "100-Continue")], nil),
        ("another expectation", .http1_1, [("Host", "a"), ("Expect", "tea")], "expectation-unknown"),
        ("two", .http1_1, [("Host", "a"), ("Expect", "100-continue"), ("Expect", "tea")], "expectation-unknown"),
        ("an expectation in 1.0", .http1_0, [("Expect", "tea")], nil),
    ]

    @Test(arguments: heads)
    func headsAreChecked(
        _ row: (name: String, version: HTTPVersion, headers: [(String, String)], code: String?)
    ) {
        let head = HTTPRequestHead(version: row.version, method: .POST, uri: "/", headers: HTTPHeaders(row.headers))
        #expect(head.fault?.code == row.code, "\(row.name)")
    }

    private static func head(
        _ headers: [(String, String)] = [], method: HTTPMethod = .POST, uri: String = "/",
        version: HTTPVersion = .http1_1
    ) -> HTTPRequestHead {
        HTTPRequestHead(version: version, method: method, uri: uri, headers: HTTPHeaders(headers))
    }

    @Test func healthChecksAreKnown() {
        for uri in ["/healthz", "/readyz", "/healthz?verbose"] {
            #expect(Self.head(method: .GET, uri: uri).isHealthCheck)
        }
        #expect(Self.head(method: .HEAD, uri: "/healthz").isHealthCheck)
        #expect(!Self.head(uri: "/healthz").isHealthCheck)
        for uri in ["/healthz/", "/v1/status", "/", "x/healthz"] {
            #expect(!Self.head(method: .GET, uri: uri).isHealthCheck)
        }
    }

    @Test func connectionsThatEndAreKnown() {
        #expect(Self.head().keepsAlive)
        #expect(!Self.head([("Connection", "foo, Close")]).keepsAlive)
        #expect(!Self.head([("Connection", "keep-alive")], version: .http1_0).keepsAlive)
        #expect(!Self.head([("Connection", "upgrade"), ("Upgrade", "h2c")]).keepsAlive)
        #expect(!Self.head(method: .CONNECT, uri: "a:80").keepsAlive)
    }

    // MARK: Bodies

    private static func exchange(_ headers: [(String, String)]) -> Exchange {
        Exchange(head(headers), from: .address(one), keepsAlive: true, wireCount: 1000)
    }

    /// After an early answer a short rest of the body is read, and a long one is not.
    @Test func anEarlyAnswerIsTheLastIfMuchWouldFollow() {
        let limit = DaemonLimits.bodyRestBytes
        var short = Self.exchange([("Content-Length", "\(limit + 1)")])
        #expect(short.isLast)
        short.received = 1
        #expect(!short.isLast)
        #expect(Self.exchange([("Content-Length", "99999999999999999999")]).isLast)
        #expect(Self.exchange([("Content-Length", "1"), ("Expect", "100-continue")]).isLast)
        var chunked = Self.exchange([("Transfer-Encoding", "chunked")])
        #expect(chunked.isLast)
        chunked.isReceived = true
        #expect(!chunked.isLast)
    }

    @Test func chunksMayNotBeMostlyOverhead() {
        var exchange = Self.exchange([("Transfer-Encoding", "chunked")])
        // One-byte chunks: six bytes on the wire for one of the body.
        exchange.received = 100_000
        #expect(!exchange.isWasteful(wireCount: 1000 + 600_000))
        exchange.received = 1
        #expect(!exchange.isWasteful(wireCount: 1000 + DaemonLimits.chunkOverheadBytes))
        #expect(exchange.isWasteful(wireCount: 1000 + DaemonLimits.chunkOverheadBytes + 9))
    }

    private static let (a, b, c) = (
        BodyShares.Sender.tenant(ApplicationID(unchecked: "com.example.A")),
        BodyShares.Sender.tenant(ApplicationID(unchecked: "com.example.B")), BodyShares.Sender.tenant(nil)
    )

    @Test("Bodies are held up to a limit") func limit() {
        var shares = BodyShares(limit: 100)
        #expect(shares.hasRoom(for: 75, of: Self.a, bodyOf: 75) && !shares.hasRoom(for: 76, of: Self.a, bodyOf: 76))
        #expect(shares.hold(75, of: Self.a, bodyOf: 75) == true)
        #expect(shares.hold(26, of: Self.b, bodyOf: 26) == false, "bytes that are not held do not count")
        #expect(shares.hold(25, of: Self.b, bodyOf: 25) == true)
        #expect(shares.hold(1, of: Self.c, bodyOf: 1) == false)
        shares.release(75, of: Self.a)
        #expect(shares.hold(75, of: Self.a, bodyOf: 75) == false)
        #expect(shares.hold(50, of: Self.a, bodyOf: 50) == true)
        #expect(!shares.hasRoom(for: .max, of: Self.c, bodyOf: .max))
    }

    @Test("A sender that holds more than a quarter leaves a quarter to the others") func shares() {
        var shares = BodyShares(limit: 100)
        for _ in 0..<75 { #expect(shares.hold(1, of: Self.a, bodyOf: 1) == true) }
        #expect(shares.hold(1, of: Self.a, bodyOf: 1) == false)
        for _ in 0..<20 { #expect(shares.hold(1, of: Self.b, bodyOf: 1) == true) }
        #expect(shares.hold(5, of: Self.c, bodyOf: 5) == true)
        // The room that the greatest holder gives back is not its own again before others have had theirs.
        shares.release(10, of: Self.a)
        #expect(shares.hold(1, of: Self.a, bodyOf: 1) == false)
        #expect(shares.hold(5, of: Self.b, bodyOf: 5) == true)
    }

    @Test("The bytes of a body count for the tenant of its key, and for its address without one") func senders() {
        var settings = EdgeSettings()
        settings.bodyBytesHeld = 100
        let edge = Edge(settings) { $0 == "Bearer rk_a" ? .some(ApplicationID(unchecked: "com.example.A")) : nil }
        func refusal(_ authorization: String, _ length: Int) -> String? {
            let head = Self.head([("Host", "a"), ("Content-Length", "\(length)"), ("Authorization", authorization)])
            return edge.refusal(ofBodyOf: head, from: edge.sender(of: head, from: Self.one))?.code
        }
        #expect(edge.hold(75, of: Self.a, bodyOf: 75))
        #expect(refusal("Bearer rk_a", 1) == "overloaded" && refusal("Bearer rk_unknown", 25) == nil)
        #expect(edge.hold(25, of: .address(Self.one), bodyOf: 25))
        #expect(refusal("Bearer rk_unknown", 1) == "overloaded")
        edge.release(75, of: Self.a)
        #expect(refusal("Bearer rk_a", 25) == nil)
    }

    /// Batches whose clients are slow to take the answers hold their bodies meanwhile.
    @Test("Long bodies leave a quarter to short ones") func longBodies() {
        let short = DaemonLimits.bodyBytes
        var shares = BodyShares(limit: 16 * short)
        #expect(shares.hasRoom(for: 12 * short, of: Self.a, bodyOf: 12 * short))
        #expect(!shares.hasRoom(for: 12 * short + 1, of: Self.a, bodyOf: 12 * short + 1))
        #expect(shares.hold(12 * short, of: Self.a, bodyOf: 12 * short) == true)
        #expect(shares.hold(1, of: Self.b, bodyOf: short + 1) == false)
        for _ in 0..<4 { #expect(shares.hold(short, of: Self.b, bodyOf: short) == true) }
        #expect(shares.hold(1, of: Self.b, bodyOf: 1) == false)
    }
}

extension ConnectionBook {
    fileprivate mutating func open(from address: IPAddress?) -> Admission {
        var relieved: IPAddress??
        return open(from: address, relieving: &relieved)
    }
}
