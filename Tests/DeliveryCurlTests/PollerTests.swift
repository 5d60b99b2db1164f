import CCurl
import Glibc
import Testing

@testable import DeliveryCurl

@Suite("The poller")
struct PollerTests {
    /// Two ends of a connection.
    private static func pair() throws -> (near: Int32, far: Int32) {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        return (ends[0], ends[1])
    }

    /// Bytes come on a kept socket in the turn in which libcurl closes it: the number is the next socket's, which must
    /// keep its own bytes.
    @Test func theNextSocketWithTheNumberOfAClosedOneIsLeftAlone() throws {
        var poller = try Poller()
        let (kept, far) = try Self.pair()
        #expect(poller.watch(kept, reading: true, writing: false) == 0)
        poller.rest(kept)
        #expect(write(far, "x", 1) == 1)
        #expect(poller.wait(milliseconds: 1000) == 1)
        let (descriptor, readiness) = poller.event(at: 0)
        #expect(descriptor == kept && readiness == CURL_CSELECT_IN)

        poller.closing(kept)
        let (near, other) = try Self.pair()
        #expect(dup2(near, kept) == kept)
        #expect(write(other, "mine", 4) == 4)
        let isKept = poller.endRest(of: descriptor)
        #expect(!isKept)
        var bytes = [UInt8](repeating: 0, count: 8)
        #expect(recv(kept, &bytes, bytes.count, Int32(MSG_DONTWAIT)) == 4)
        for socket in [kept, far, near, other] { close(socket) }
    }

    @Test func bytesOnAKeptSocketEndIt() throws {
        var poller = try Poller()
        let (kept, far) = try Self.pair()
        #expect(poller.watch(kept, reading: true, writing: false) == 0)
        poller.rest(kept)
        #expect(write(far, "x", 1) == 1)
        let (first, second) = (poller.endRest(of: kept), poller.endRest(of: kept))
        #expect(first && !second)
        var byte: UInt8 = 0
        #expect(read(far, &byte, 1) == 0)
        for socket in [kept, far] { close(socket) }
    }

    @Test func aSocketThatWaitedToWriteIsReadWhenKept() throws {
        var poller = try Poller()
        let (kept, far) = try Self.pair()
        #expect(poller.watch(kept, reading: false, writing: true) == 0)
        poller.rest(kept)
        #expect(poller.wait(milliseconds: 0) == 0)
        #expect(write(far, "x", 1) == 1)
        #expect(poller.wait(milliseconds: 1000) == 1)
        for socket in [kept, far] { close(socket) }
    }

    /// Closed without a word to the poller: the kernel has forgotten it, and the number is the next socket's.
    @Test func theNumberOfAKeptSocketIsWatchedForItsNextSocket() throws {
        var poller = try Poller()
        let (kept, far) = try Self.pair()
        #expect(poller.watch(kept, reading: true, writing: false) == 0)
        poller.rest(kept)
        let (near, other) = try Self.pair()
        // Closed and given away in one step: between two of them the number could become that of another test's socket.
        #expect(dup2(near, kept) == kept)
        #expect(poller.watch(kept, reading: true, writing: false) == 0)
        #expect(write(other, "x", 1) == 1)
        #expect(poller.wait(milliseconds: 1000) == 1)
        for socket in [kept, far, near, other] { close(socket) }
    }
}
