import NIOCore
import RouterdApp
import Testing

@testable import DaemonTesting

/// Deadlines of clients, with a clock that the test controls.
@Suite("Request clock")
struct RequestClockTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    private static func at(_ seconds: Int64) -> NIODeadline { start + .seconds(seconds) }

    private static var times: ConnectionTimes {
        var times = ConnectionTimes()
        times.idle = .seconds(75)
        times.head = .seconds(10)
        times.bodyGrace = .seconds(5)
        times.bodyBytesPerSecond = 100
        times.request = .seconds(60)
        times.linger = .seconds(2)
        return times
    }

    private static func clock() -> RequestClock { RequestClock(times: times, at: start) }

    /// A clock whose connection is receiving a body.
    private static func receiving() -> RequestClock {
        var clock = clock()
        clock.headArrived(at: start)
        return clock
    }

    @Test func aConnectionWithoutRequestIsClosedInTheEnd() {
        let clock = Self.clock()
        #expect(clock.overrun(at: Self.at(74)) == nil)
        #expect(clock.overrun(at: Self.at(75)) == .close)
    }

    @Test func aHeadHasTimeFromItsFirstByte() {
        var clock = Self.clock()
        clock.bytesArrived(at: Self.at(70))
        // Later bytes of the head do not extend the time.
        clock.bytesArrived(at: Self.at(79))
        #expect(clock.overrun(at: Self.at(79)) == nil)
        #expect(clock.overrun(at: Self.at(80)) == .timeOut)
    }

    @Test func aByteASecondIsTooSlow() {
        var clock = Self.receiving()
        for second in 1...4 {
            clock.bodyArrived(1)
            #expect(clock.overrun(at: Self.at(Int64(second))) == nil)
        }
        clock.bodyArrived(1)
        #expect(clock.overrun(at: Self.at(5)) == .timeOut)
    }

    @Test func receivedBytesBuyTimeAtTheRate() {
        var clock = Self.receiving()
        clock.bodyArrived(1000)
        #expect(clock.deadline == Self.at(15))
        clock.bodyArrived(199)
        #expect(clock.deadline == Self.at(16))
        #expect(clock.overrun(at: Self.at(15)) == nil)
        #expect(clock.overrun(at: Self.at(16)) == .timeOut)
    }

    @Test func nothingBuysMoreThanTheWholeRequestMayTake() {
        var clock = Self.receiving()
        clock.bodyArrived(1_000_000)
        #expect(clock.overrun(at: Self.at(59)) == nil)
        #expect(clock.overrun(at: Self.at(60)) == .timeOut)
    }

    @Test func theClientMayWaitForUs() {
        var clock = Self.receiving()
        clock.requestEnded(at: Self.at(1))
        #expect(clock.deadline == nil)
        #expect(clock.overrun(at: Self.at(100_000)) == nil)
        clock.answered(at: Self.at(1000))
        #expect(clock.overrun(at: Self.at(1059)) == nil)
        #expect(clock.overrun(at: Self.at(1060)) == .close, "the answer has to be taken")
    }

    @Test func afterTheAnswerItIsIdleAgain() {
        var clock = Self.receiving()
        clock.requestEnded(at: Self.at(1))
        clock.answered(at: Self.at(2))
        clock.sent(at: Self.at(3))
        #expect(clock.phase == .idle(since: Self.at(3)))
        clock.bytesArrived(at: Self.at(4))
        #expect(clock.phase == .head(since: Self.at(4)))
    }

    @Test func aRequestMayComeWhileTheAnswerGoes() {
        var clock = Self.receiving()
        clock.requestEnded(at: Self.at(1))
        clock.answered(at: Self.at(2))
        clock.headArrived(at: Self.at(3))
        // The answer before has been sent by now; that says nothing about this request.
        clock.sent(at: Self.at(4))
        #expect(clock.phase == .body(since: Self.at(3), bytes: 0))
    }

    /// The end of a request is answered once.
    @Test func theRestOfAnAnsweredRequestIsNotAnswered() {
        var clock = Self.receiving()
        clock.answered(at: Self.at(1))
        #expect(clock.overrun(at: Self.at(5)) == .close)
        clock.requestEnded(at: Self.at(4))
        #expect(clock.phase == .idle(since: Self.at(4)))
        clock.headArrived(at: Self.at(5))
        #expect(clock.overrun(at: Self.at(10)) == .timeOut)
    }

    @Test func aBodyThatWaitsForContinueHasTimeFromThen() {
        var clock = Self.receiving()
        clock.restartBody(at: Self.at(4))
        #expect(clock.deadline == Self.at(9))
    }

    @Test func theLastWordsAreShort() {
        var clock = Self.receiving()
        clock.linger(at: Self.at(1))
        clock.bytesArrived(at: Self.at(2))
        clock.bodyArrived(1000)
        clock.requestEnded(at: Self.at(2))
        clock.answered(at: Self.at(2))
        #expect(clock.overrun(at: Self.at(2)) == nil)
        #expect(clock.overrun(at: Self.at(3)) == .close)
    }
}
