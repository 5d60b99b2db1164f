import Testing

@testable import DeliveryCurl

struct RequestTimeTests {
    private static func at(_ milliseconds: UInt64) -> UInt64 { 7_000_000_000 + milliseconds * 1_000_000 }

    private static func time(connecting: Int, all: Int) -> RequestTime {
        RequestTime(at: at(0), connectingMilliseconds: connecting, milliseconds: all)
    }

    @Test func isUsedUp() {
        let time = Self.time(connecting: 5000, all: 15_000)
        #expect(time.left(at: Self.at(0)) == (5000, 15_000))
        #expect(time.left(at: Self.at(4999)) == (1, 10_001))
        #expect(time.left(at: Self.at(20_000)) == (1, 1), "None would be no limit.")
        #expect(time.addressDeadline == Self.at(5000))
        #expect(time.threadDeadline == Self.at(1250))
    }

    @Test func anotherConnectionHasAnotherTime() {
        var time = Self.time(connecting: 5000, all: 15_000)
        time.connectsAnew(at: Self.at(8000))
        #expect(time.left(at: Self.at(9000)) == (4000, 6000))
        #expect(time.addressDeadline == Self.at(13_000))
        time.connectsAnew(at: Self.at(12_000))
        #expect(time.left(at: Self.at(12_000)) == (5000, 3000))
        #expect(time.addressDeadline == Self.at(15_000), "but no more than there is")
    }

    @Test func isNeverZero() {
        for milliseconds in [0, -1, Int.min] {
            #expect(Self.time(connecting: milliseconds, all: milliseconds).left(at: Self.at(0)) == (1, 1))
        }
        let most = CurlLimits.timeoutMilliseconds
        #expect(Self.time(connecting: .max, all: .max).left(at: Self.at(0)) == (most, most))
    }
}
