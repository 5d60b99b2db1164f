import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Plugins
import RouterPlugin
import RouterdApp
import Synchronization
import Testing

@testable import DaemonTesting

@Suite("APNs: a request")
struct APNsStreamTests {
    @Test("A push without :authority is accepted, and its answer has no body")
    func taken() throws {
        let bench = try APNsBench()
        try bench.head()
        try bench.body(#"{"aps":{"target-content-id":"#, endStream: false)
        #expect(bench.pushes.isEmpty)
        try bench.body(#""photo/1"}}"#)
        #expect(bench.pushes.map(\.event.contentID?.text) == ["photo/1"])
        #expect(try bench.sent() == APNsBench.Answer(), "Nothing is answered before the push is committed.")
        bench.answer(.accepted(uniqueID: "ntf_1", session: "win-1"))
        let answer = try bench.sent()
        #expect(answer.status == "200" && answer.isEnded && answer.dataFrames == 0)
        #expect(answer.headers["apns-id"] == APNsBench.messageID && answer.headers["x-routerd-session"] == "win-1")
    }

    @Test("A refusal is one DATA frame that ends the stream")
    func refused() throws {
        let bench = try APNsBench()
        try bench.head()
        try bench.body("{}")
        bench.answer(.refused(APNsRefusal(.badTopic, "No.")))
        let answer = try bench.sent()
        #expect(answer.status == "400" && answer.body == #"{"reason":"BadTopic"}"#)
        #expect(answer.dataFrames == 1 && answer.isEnded && answer.headers["apns-id"] == APNsBench.messageID)
    }

    @Test("An unknown topic is reported before a fault of the body", arguments: [true, false])
    func order(isKnown: Bool) throws {
        let bench = try APNsBench(
            desk: APNsBench.desk(knows: { id, answer in answer(isKnown && id.text == "com.example.Gallery") }))
        try bench.head(endStream: true)
        let reason = isKnown ? "PayloadEmpty" : "BadTopic"
        #expect(try bench.sent().body == #"{"reason":"\#(reason)"}"#)
    }

    @Test("The rest of a long body does not reset the stream before the answer")
    func answerBeforeReset() throws {
        let asked = Mutex<(@Sendable (Bool) -> Void)?>(nil)
        let bench = try APNsBench(desk: APNsBench.desk(knows: { _, answer in asked.withLock { $0 = answer } }))
        try bench.head()
        for _ in 0..<3 { try bench.body(String(repeating: "x", count: 65_536), endStream: false) }
        #expect(try bench.sent() == APNsBench.Answer())
        asked.withLock { $0 }?(true)
        let answer = try bench.sent()
        #expect(answer.status == "413" && answer.isEnded && answer.isReset)
    }

    @Test("A refused head is answered before its body arrives, and the rest is discarded up to a bound")
    func refusedEarly() throws {
        let bench = try APNsBench()
        try bench.head { $0.remove(name: "authorization") }
        #expect(try bench.sent().body == #"{"reason":"MissingProviderToken"}"#)
        try bench.body(String(repeating: "x", count: 65_536), endStream: false)
        #expect(try bench.sent() == APNsBench.Answer())
        try bench.body("x", endStream: false)
        #expect(try bench.sent().isReset)
        #expect(bench.pushes.isEmpty)
    }

    @Test("A long body is refused as soon as its length is known")
    func tooLong() throws {
        let declared = try APNsBench()
        try declared.head { $0.add(name: "content-length", value: "4097") }
        #expect(try declared.sent().status == "413")
        let undeclared = try APNsBench()
        try undeclared.head()
        try undeclared.body(String(repeating: "x", count: 4096), endStream: false)
        #expect(try undeclared.sent().status.isEmpty)
        try undeclared.body("x", endStream: false)
        #expect(try undeclared.sent().status == "413")
        try undeclared.body("x")
        #expect(try undeclared.sent() == APNsBench.Answer(), "There is one answer.")
    }

    @Test("A body that does not end in time is answered IdleTimeout and cut")
    func slow() throws {
        for hasHead in [true, false] {
            let bench = try APNsBench()
            if hasHead { try bench.head() }
            bench.channel.embeddedEventLoop.advanceTime(by: bench.desk.waits.request - .nanoseconds(1))
            #expect(try bench.sent() == APNsBench.Answer())
            bench.channel.embeddedEventLoop.advanceTime(by: .nanoseconds(1))
            let answer = try bench.sent()
            #expect(answer.status == "400" && answer.body == #"{"reason":"IdleTimeout"}"# && answer.isReset)
        }
    }

    @Test("The time limit of a request ends when it is complete: the engine is not limited")
    func committing() throws {
        let bench = try APNsBench()
        try bench.head()
        try bench.body("{}")
        bench.channel.embeddedEventLoop.advanceTime(by: .hours(1))
        #expect(try bench.sent() == APNsBench.Answer())
        bench.answer(.accepted(uniqueID: "ntf_1", session: nil))
        #expect(try bench.sent().status == "200")
    }

    @Test("A request that arrives while the listener stops is refused with Shutdown; one under way is answered")
    func draining() throws {
        let bench = try APNsBench()
        try bench.head()
        bench.desk.startDraining()
        try bench.body("{}")
        bench.answer(.accepted(uniqueID: "ntf_1", session: nil))
        #expect(try bench.sent().status == "200")
        let late = try APNsBench(desk: bench.desk)
        try late.head()
        let answer = try late.sent()
        #expect(answer.status == "503" && answer.body == #"{"reason":"Shutdown"}"#)
    }

    @Test("Incomplete bodies are held up to a total, and released when their streams end")
    func held() throws {
        let desk = APNsBench.desk(bodyBytesHeld: 10)
        let benches = try (0..<3).map { _ in try APNsBench(desk: desk) }
        for bench in benches {
            try bench.head()
            try bench.body("12345", endStream: false)
        }
        #expect(try benches[0].sent().status.isEmpty && benches[1].sent().status.isEmpty)
        #expect(try benches[2].sent().body == #"{"reason":"ServiceUnavailable"}"#)
        _ = try benches[0].channel.finish()
        let next = try APNsBench(desk: desk)
        try next.head()
        try next.body("12345", endStream: false)
        #expect(try next.sent().status.isEmpty)
    }

    @Test("A client that has disconnected is not answered")
    func gone() throws {
        let bench = try APNsBench()
        try bench.head()
        try bench.body("{}")
        _ = try bench.channel.finish()
        bench.answer(.accepted(uniqueID: "ntf_1", session: nil))
        #expect(try bench.sent() == APNsBench.Answer())
    }
}
