import Router
import Testing

/// Addresses and ranges as text.
@Suite("Addresses")
struct IPAddressTests {
    @Test(
        "Written in the form of RFC 5952",
        arguments: [
            ("127.0.0.1", "127.0.0.1"), ("255.255.255.255", "255.255.255.255"), ("::", "::"), ("::1", "::1"),
            ("1::", "1::"), ("0:0:0:0:0:0:0:1", "::1"), ("2001:DB8::0001", "2001:db8::1"),
            ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"), ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
            ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"), ("::ffff:7f00:1", "::ffff:127.0.0.1"), ("::7f00:1", "::7f00:1"),
            ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"), ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"),
            ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"), ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
        ])
    func written(text: String, expected: String) throws {
        let address = try #require(IPAddress(text))
        #expect("\(address)" == expected)
        #expect(IPAddress(expected) == address)
    }

    /// The URL's parser normalises other spellings to the standard form; this parser refuses them.
    @Test(
        "Not an address",
        arguments: [
            "", " ", "1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "127.1", "127.0.1", "127.0.0.01",
            "00.0.0.0", "256.0.0.1", "1.2.3.4.5", "1.2.3.", ".1.2.3", "1..2.3", "1.2.3.4 ", "+1.2.3.4", "1.2.3.-4",
            "127.0.0.1\n", "１２７.0.0.1", "localhost", ":", ":::", "1", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3",
            "1:2:3:4:5:6:7:8::", "::1:2:3:4:5:6:7:8", ":1", "1:", ":1::", "::1:", "12345::", "g::", "::1%lo", "[::1]",
            "1.2.3.4::", "::1.2.3", "::1.2.3.4:5", "::1.2.3.256", "1:2:3:4:5:6:7:1.2.3.4", "::+1", "::-1", "::0x1",
            "0000:0000:0000:0000:0000:0000:0000:0000:", "::00001",
        ])
    func notAnAddress(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test(
        "The host of a URL",
        arguments: [
            ("127.0.0.1", .v4(0x7F00_0001)), ("[::1]", .v6(1)), ("[::ffff:1.2.3.4]", .v6(0xFFFF_0102_0304)),
            ("::1", nil), ("[127.0.0.1]", nil), ("[::1", nil), ("[]", nil), ("", nil), ("example.com", nil),
        ] as [(String, IPAddress?)])
    func urlHost(host: String, expected: IPAddress?) {
        #expect(IPAddress(urlHost: host) == expected)
    }

    @Test(
        "Ranges",
        arguments: [
            ("10.0.0.0/8", "10.0.0.0/8"), ("10.0.0.5", "10.0.0.5/32"), ("0.0.0.0/0", "0.0.0.0/0"), ("::/0", "::/0"),
            ("fd12::/16", "fd12::/16"), ("::1", "::1/128"), ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
            ("::ffff:10.0.0.5", "10.0.0.5/32"),
        ])
    func ranges(text: String, expected: String) throws {
        #expect("\(try IPNetwork(text))" == expected)
    }

    @Test(
        "Not a range",
        arguments: [
            "", "/8", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/8/8", "10/8",
            "10.0.0.0/0x8", "10.0.0.1/8", "::1/64", "10.0.0.0/ 8", "0127.0.0.1", "10.0.0.0/99999999999999999999",
        ])
    func notARange(text: String) {
        let error = #expect(throws: InvalidGrantText.self) { try IPNetwork(text) }
        #expect(error?.reason.isEmpty == false)
    }

    @Test func aRangeWithBitsBeyondItsPrefixIsToldAsItShouldBe() {
        let error = #expect(throws: InvalidGrantText.self) { try IPNetwork("10.1.2.3/8") }
        #expect(error?.reason == "has bits beyond its prefix; the range is 10.0.0.0/8")
    }

    @Test func containment() throws {
        let ten = try IPNetwork("10.0.0.0/8")
        let (all4, all6) = (try IPNetwork("0.0.0.0/0"), try IPNetwork("::/0"))
        #expect(ten.contains(.v4(10, 255, 0, 1)) && !ten.contains(.v4(11, 0, 0, 0)) && !ten.contains(.v6(0x0A00_0000)))
        #expect(all4.contains(.v4(.max)) && all6.contains(.v6(.max)) && !all6.contains(.v4(1)))
        #expect(all4.contains(ten) && !ten.contains(all4) && ten.contains(ten) && !all6.contains(ten))
        #expect(try IPNetwork("10.1.0.0/16") != ten && ten.contains(try IPNetwork("10.1.0.0/16")))
    }
}
