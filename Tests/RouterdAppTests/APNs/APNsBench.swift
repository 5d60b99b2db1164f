import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Plugins
import RouterPlugin
import RouterdApp
import Synchronization

@testable import DaemonTesting

/// One request to the APNs listener, on an event loop whose time the test controls.
final class APNsBench {
    /// The submitted pushes, and their pending answers.
    private final class Taken: Sendable {
        private let state = Mutex([(push: APNsPush, answer: @Sendable (APNsVerdict) -> Void)]())

        func add(_ push: APNsPush, _ answer: @escaping @Sendable (APNsVerdict) -> Void) {
            state.withLock { $0.append((push, answer)) }
        }

        var all: [(push: APNsPush, answer: @Sendable (APNsVerdict) -> Void)] { state.withLock { $0 } }
    }

    /// The frames sent, as far as tests look at them.
    struct Answer: Equatable {
        var status = ""
        var headers: [String: String] = [:]
        var body = ""
        /// How many DATA frames it has.
        var dataFrames = 0
        var isEnded = false
        var isReset = false
    }

    let desk: APNsDesk
    let channel: EmbeddedChannel
    private let taken: Taken

    init(desk: APNsDesk? = nil) throws {
        let taken = Taken()
        self.taken = taken
        self.desk = desk ?? Self.desk(take: { taken.add($0, $1) })
        channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(APNsStream(on: APNsConnection(desk: self.desk)))
    }

    /// A desk that accepts every token.
    static func desk(
        bodyBytesHeld: Int = DaemonLimits.apnsBodyBytesHeld,
        knows: @escaping APNsDesk.Knows = { _, answer in answer(true) }, take: @escaping APNsDesk.Take = { _, _ in }
    ) -> APNsDesk {
        APNsDesk(
            checks: APNsChecks(tokens: .none), bodyBytesHeld: bodyBytesHeld,
            now: { Timestamp(milliseconds: 1_767_268_800_000) }, knows: knows, take: take)
    }

    var pushes: [APNsPush] { taken.all.map(\.push) }

    func answer(_ verdict: APNsVerdict) {
        for entry in taken.all { entry.answer(verdict) }
        channel.embeddedEventLoop.run()
    }

    func head(_ change: (inout HPACKHeaders) -> Void = { _ in }, endStream: Bool = false) throws {
        var headers: HPACKHeaders = [
            ":method": "POST", ":scheme": "https", ":path": "/3/device/00fc13adff785122", "host": "localhost",
            "authorization": "bearer any", "apns-topic": "com.example.Gallery", "apns-id": Self.messageID,
        ]
        change(&headers)
        try channel.writeInbound(HTTP2Frame.FramePayload.headers(.init(headers: headers, endStream: endStream)))
    }

    func body(_ text: String, endStream: Bool = true) throws {
        let data = IOData.byteBuffer(ByteBuffer(string: text))
        try channel.writeInbound(HTTP2Frame.FramePayload.data(.init(data: data, endStream: endStream)))
    }

    /// All frames sent since the last call.
    func sent() throws -> Answer {
        channel.embeddedEventLoop.run()
        var answer = Answer()
        while let frame = try channel.readOutbound(as: HTTP2Frame.FramePayload.self) {
            switch frame {
            case .headers(let headers):
                for (name, value, _) in headers.headers {
                    if name == ":status" { answer.status = value } else { answer.headers[name] = value }
                }
                answer.isEnded = headers.endStream
            case .data(let data):
                if case .byteBuffer(let bytes) = data.data { answer.body += String(buffer: bytes) }
                answer.dataFrames += 1
                answer.isEnded = data.endStream
            case .rstStream(.noError): answer.isReset = true
            default: break
            }
        }
        return answer
    }

    static let messageID = "123E4567-e89b-12d3-a456-4266554400a0"
}
