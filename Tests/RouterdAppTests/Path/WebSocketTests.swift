import HTTPTypes
import HummingbirdTesting
import NIOCore
import NIOEmbedded
import NIOWebSocket
import Router
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// Streams over WebSocket, and hostile clients of them.
@Suite("WebSocket", .longest)
struct WebSocketTests {
    private static let path = "\(TestDaemon.gallery)/sessions/A/deliveries"

    private func withStream(
        window: Int = 1, _ change: (inout TestDaemon.Options) -> Void = { _ in },
        _ body: @Sendable (TestDaemon, Int) async throws -> Void
    ) async throws {
        var options = TestDaemon.Options(isLive: true)
        change(&options)
        try await withDaemon(options) { daemon in
            let delivery = #""retrySchedule":[0],"timeoutSeconds":300,"lifeCycleEvents":false"#
            try await daemon.putGallery(#"{"delivery":{\#(delivery),"maxInFlightPerSession":\#(window)}}"#)
            let put = try await daemon.call(
                .put, "\(TestDaemon.gallery)/sessions/A",
                #"{"endpoint":{"stream":true},"activationState":"foregroundActive"}"#)
            #expect(put.status == 201)
            try await body(daemon, try #require(daemon.client.port))
        }
    }

    @Test func deliveriesAreBroughtAndAcknowledged() async throws {
        try await withStream { daemon, port in
            let id = try await daemon.post(#"{"notification-content-id":"doc/1"}"#).id
            let refused = try await daemon.post("{}").id
            try await WebSocketConnection.open(port, Self.path) { socket in
                // RFC 6455, 1.3.
                #expect(socket.head.status == 101)
                #expect(socket.head.headers["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
                #expect(socket.head.headers["connection"] == "Upgrade")
                #expect(socket.head.headers["content-length"] == nil)
                let first = try socket.message().json
                #expect(first["type"] == "delivery" && first["sequence"] == 1 && first["attempt"] == 1)
                #expect(first.at("envelope", "data", "payload", "notification-content-id") == "doc/1")
                let delivery = try #require(first["id"]?.asString)
                socket.send(#"{"type":"ack","id":"\#(delivery)","answer":{"session":{"userInfo":{"seen":1}}}}"#)
                let settled = try (socket.message().json, socket.message().json)
                // The next delivery may come before the reply.
                let (reply, second) = settled.0["type"] == "settled" ? settled : (settled.1, settled.0)
                #expect(reply["type"] == "settled" && reply["id"] == .string(delivery))
                #expect(second["type"] == "delivery" && second["sequence"] == 2)
                let next = second["id"]?.asString ?? ""
                socket.send(#"{"type":"nack","id":"\#(next)","reason":"busy","retryAfterSeconds":60}"#)
                #expect(try socket.message().json == ["type": "settled", "id": .string(next)])
                socket.send(WebSocketConnection.close, [0x03, 0xE8])
                #expect(try socket.message().closeCode == 1000)
                #expect(try socket.isClosed())
            }
            #expect(try await daemon.notification(id)["state"] == "delivered")
            #expect(try await daemon.session("A")["userInfo"] == ["seen": 1])
            let waiting = try await daemon.notification(refused)
            let attempt = waiting["attempts"].asArray?.first
            #expect(waiting["state"] == "waiting" && attempt?["responseExcerpt"] == "busy")
            #expect(attempt?["status"] == 503 && attempt?["retryAfterSeconds"] == 60)
        }
    }

    @Test func severalDeliveriesAreAcknowledgedByOneMessage() async throws {
        try await withStream(window: 3) { daemon, port in
            var ids: [String] = []
            for _ in 0..<3 { ids.append("dlv_\(try await daemon.post("{}").id.dropFirst(4))") }
            let sent = ids
            try await WebSocketConnection.open(port, Self.path) { socket in
                let brought = try (0..<3).map { _ in try socket.message().json["id"]?.asString }
                #expect(brought == sent)
                let unknown = "dlv_01KAXY00000000000000000000"
                socket.send(#"{"type":"ack","ids":["\#(unknown)","\#(sent[1])"]}"#)
                let refused = try socket.message().json
                #expect(refused["type"] == "refused" && refused["code"] == "unknown-delivery")
                #expect(refused["ids"] == [.string(unknown), .string(sent[1])])
                #expect(refused["detail"]?.asString?.contains(unknown) == true)
                socket.send(#"{"type":"ack","ids":["\#(sent[2])","\#(sent[0])"]}"#)
                #expect(
                    try socket.message().json == ["type": "settled", "ids": [.string(sent[2]), .string(sent[0])]])
            }
            for id in ids {
                #expect(try await daemon.notification("ntf_\(id.dropFirst(4))")["state"] == "delivered")
            }
        }
    }

    @Test func payloadsOfTheGreatestSizeArrive() async throws {
        try await withStream(window: 2) { daemon, port in
            let ids = try await daemon.postLargest()
            let payload = try JSONValue(parsing: Array(LargestPayload.json.utf8))
            try await WebSocketConnection.open(port, Self.path) { socket in
                let data = [try socket.message(), try socket.message()].map { $0.json.at("envelope", "data") }
                #expect(data[0]["payload"] == payload)
                let bytes = data[1]["payloadBase64"]?.asString.flatMap { Base64.decode($0[...]) }
                #expect(bytes == LargestPayload.bytes)
                socket.send(#"{"type":"ack","ids":["dlv_\#(ids[0].dropFirst(4))","dlv_\#(ids[1].dropFirst(4))"]}"#)
                #expect(try socket.message().json["type"] == "settled")
            }
        }
    }

    /// A message has 148 KiB at most, in one frame or in two.
    @Test func messagesOfAClientAreBounded() async throws {
        try await withStream { daemon, port in
            let id = try await daemon.post("{}").id
            let limit = DaemonLimits.webSocketBytes
            for (sizes, closes) in [
                ([limit], false), ([limit - 1, 1], false), ([limit + 1], true), ([limit, 1], true),
            ] {
                try await WebSocketConnection.open(port, Self.path) { socket in
                    let ack = #"{"type":"ack","id":"dlv_\#(id.dropFirst(4))"}"#
                    let length = sizes.reduce(0, +) - ack.utf8.count
                    var rest = (Array(ack.utf8) + Array(repeating: 0x20, count: length))[...]
                    for (place, size) in sizes.enumerated() {
                        let opcode: UInt8 = place == 0 ? 0x01 : 0x00
                        let isFinal = place == sizes.count - 1
                        socket.send(
                            bytes: WebSocketConnection.frame(isFinal ? 0x80 | opcode : opcode, Array(rest.prefix(size)))
                        )
                        rest = rest.dropFirst(size)
                    }
                    var frame = try socket.message()
                    if frame.json["type"] == "delivery" { frame = try socket.message() }
                    #expect(frame.closeCode == (closes ? 1009 : nil), "\(sizes)")
                    if !closes { #expect(frame.json["type"] == "settled", "\(sizes)") }
                }
            }
        }
    }

    /// RFC 6455, 5.2: the shortest form of a length.
    @Test(arguments: [(0, 1), (125, 1), (126, 3), (0xFFFF, 3), (0x1_0000, 9)])
    func aFrameHasTheLengthOfItsMessage(count: Int, bytes: Int) {
        var frame = ByteBuffer()
        frame.write(frame: .text, Array(repeating: 7, count: count))
        #expect(frame.readableBytes == 1 + bytes + count && frame.readInteger(as: UInt8.self) == 0x81)
        let first = frame.readInteger(as: UInt8.self).map { Int($0) }
        let rest = frame.readBytes(length: bytes - 1) ?? []
        #expect(first == (bytes == 1 ? count : bytes == 3 ? 126 : 127))
        #expect(bytes == 1 || rest.reduce(0) { $0 << 8 | Int($1) } == count)
    }

    @Test func aSecondConnectionTakesOver() async throws {
        try await withStream { _, port in
            let frames = try await following(port) { socket in
                let frames = [try socket.message(), try socket.message()]
                #expect(try socket.isClosed())
                return frames
            } while: {
                try await StreamConnection.open(port, Self.path) { _ = try $0.next() }
            }
            #expect(frames[0].json["type"] == "superseded" && frames[1].closeCode == 4000)
            let first = try #require(frames[0].json["epoch"]?.asInt64)
            let second = try await WebSocketConnection.open(port, Self.path) { $0.head.status }
            #expect(first > 0 && second == 101)
        }
    }

    @Test func aDiscardedSessionEndsItsConnection() async throws {
        try await withStream { daemon, port in
            let frames = try await following(port) {
                [try $0.message(), try $0.message()]
            } while: {
                try await daemon.call(.delete, "\(TestDaemon.gallery)/sessions/A")
            }
            #expect(frames[0].json["type"] == "ended" && frames[1].closeCode == 4001)
        }
    }

    @Test func aDaemonThatStopsGoesAway() async throws {
        try await withStream { daemon, port in
            let code = try await following(port) { socket in
                let frame = try socket.message()
                #expect(try socket.isClosed())
                return frame.closeCode
            } while: {
                daemon.host.streams.end()
            }
            #expect(code == 1001)
            let refused = try await WebSocketConnection.open(port, Self.path) { $0.head.summary }
            #expect(refused == "503 shutting-down")
        }
    }

    /// Runs `body` on a WebSocket in the background of `others`, which begins when the WebSocket is open.
    private func following<Value: Sendable, Other: Sendable>(
        _ port: Int, _ body: @escaping @Sendable (WebSocketConnection) throws -> Value,
        while others: @Sendable () async throws -> Other
    ) async throws -> Value {
        let isOpen = Tally()
        async let value = WebSocketConnection.open(port, Self.path) { socket in
            isOpen.add()
            return try body(socket)
        }
        try await isOpen.reached(1)
        _ = try await others()
        return try await value
    }

    /// Acknowledgements that a client sends before it closes are answered before the close frame.
    @Test func aCloseWaitsForTheRepliesBeforeIt() async throws {
        try await withStream { daemon, port in
            let id = try await daemon.post("{}").id
            try await WebSocketConnection.open(port, Self.path) { socket in
                let delivery = try socket.message().json["id"]?.asString ?? ""
                let ack = Array(#"{"type":"ack","id":"\#(delivery)"}"#.utf8)
                socket.send(
                    bytes: WebSocketConnection.frame(0x81, ack) + WebSocketConnection.frame(0x88, [0x03, 0xE8]))
                #expect(try socket.message().json["type"] == "settled")
                #expect(try socket.message().closeCode == 1000)
            }
            let found = try await daemon.notification(id)
            #expect(found["state"] == "delivered" && found["attempts"].asArray?.count == 1)
        }
    }

    @Test func anUnacknowledgedDeliveryComesAgain() async throws {
        try await withStream { daemon, port in
            _ = try await daemon.post("{}")
            var attempts: [JSONValue?] = []
            for _ in 0..<2 {
                attempts.append(
                    try await WebSocketConnection.open(port, Self.path) { try $0.message().json["attempt"] })
            }
            #expect(attempts == [1, 2])
        }
    }

    @Test func anAcknowledgementThatCannotBeKeptMayBeRepeated() async throws {
        try await withStream { daemon, port in
            let id = try await daemon.post("{}").id
            try await WebSocketConnection.open(port, Self.path) { socket in
                let delivery = try socket.message().json["id"]?.asString ?? ""
                daemon.store.fillDisk()
                socket.send(#"{"type":"ack","id":"\#(delivery)"}"#)
                let refused = try socket.message().json
                #expect(refused["type"] == "refused" && refused["id"] == .string(delivery))
                #expect(refused["code"] == "store-disk-full" && refused["retryAfterSeconds"] == 1, "\(refused)")
                daemon.store.recoverDisk()
                socket.send(#"{"type":"ack","id":"\#(delivery)"}"#)
                #expect(try socket.message().json == ["type": "settled", "id": .string(delivery)])
            }
            let found = try await daemon.notification(id)
            #expect(found["state"] == "delivered" && found["attempts"].asArray?.count == 1)
        }
    }

    @Test func aMessageThatCannotBeUsedEndsNothing() async throws {
        try await withStream { _, port in
            let count = DaemonLimits.acksAtOnce + 1
            let many = #"{"type":"ack","ids":[\#(Array(repeating: #""dlv_1""#, count: count).joined(separator: ","))]}"#
            try await WebSocketConnection.open(port, Self.path) { socket in
                let cases = [
                    ("{", "json-"), ("[]", "not-an-object"), (#"{"type":"ack"}"#, "missing-field"),
                    (#"{"id":"dlv_1"}"#, "missing-field"), (#"{"type":"sing","id":"dlv_1"}"#, "unknown-message"),
                    (#"{"type":"ack","id":"dlv_01J"}"#, "unknown-delivery"),
                    (#"{"type":"ack","id":"dlv_01J","more":1}"#, "unknown-field"),
                    (#"{"type":"ack","id":"dlv_01J","ids":["dlv_01J"]}"#, "missing-field"),
                    (#"{"type":"nack","ids":["dlv_01J"]}"#, "missing-field"),
                    (#"{"type":"nack","id":"dlv_01J","more":1}"#, "unknown-field"),
                    (#"{"type":"nack","id":"dlv_01J","retryAfterSeconds":-1}"#, "invalid-field"),
                    (many, "invalid-field"),
                ]
                for (text, code) in cases {
                    socket.send(text)
                    let reply = try socket.message().json
                    #expect(
                        reply["type"] == "refused" && reply["code"]?.asString?.hasPrefix(code) == true,
                        "\(text.prefix(99)) \(reply)")
                    let isWhole = reply["status"]?.asInt64 ?? 0 >= 400 && reply["detail"]?.asString?.isEmpty == false
                    #expect(isWhole, "\(reply)")
                }
                socket.send(WebSocketConnection.ping, [7, 8])
                let pong = try socket.message()
                #expect(pong.opcode == WebSocketConnection.pong && pong.payload == [7, 8])
            }
        }
    }

    /// The bytes of the message are not waited for.
    private static let tooLarge: [UInt8] = {
        var head: [UInt8] = [0x81, 0xFF]
        let length = UInt64(DaemonLimits.webSocketBytes + 1)
        for place in (0..<8).reversed() { head.append(UInt8(truncatingIfNeeded: length >> UInt64(place * 8))) }
        return head + [1, 2, 3, 4]
    }()

    private static let hostile: [(String, [UInt8], Int)] = [
        ("no mask", [0x81, 0x02, 0x7B, 0x7D], 1002), ("a reserved bit", WebSocketConnection.frame(0xC1, [0x7B]), 1002),
        ("binary", WebSocketConnection.frame(0x82, [1]), 1003),
        ("no UTF-8", WebSocketConnection.frame(0x81, [0xC3]), 1007),
        ("an unknown opcode", WebSocketConnection.frame(0x83, []), 1002),
        ("a length of 2^62", [0x81, 0xFF, 0x40, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4], 1009),
        ("a length of 2^63", [0x81, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4], 1009),
        ("the head of a message that is too large by a byte", tooLarge, 1009),
        ("a fragmented ping", WebSocketConnection.frame(0x09, []), 1002),
        ("a long ping", WebSocketConnection.frame(0x89, Array(repeating: 0, count: 126)), 1002),
        ("a continuation of nothing", WebSocketConnection.frame(0x80, [1]), 1002),
        (
            "a message in a message", WebSocketConnection.frame(0x01, [0x7B]) + WebSocketConnection.frame(0x81, [0x7D]),
            1002
        ),
        (
            "endless fragments",
            WebSocketConnection.frame(0x01, [0x7B])
                + Array(repeating: WebSocketConnection.frame(0x00, Array(repeating: 0x20, count: 4096)), count: 40)
                .flatMap(\.self), 1009
        ),
        (
            "a fragment without a mask", WebSocketConnection.frame(0x01, [0x7B]) + [0x80, 0x01, 0x7D], 1002
        ),
        ("no UTF-8 in a close", WebSocketConnection.frame(0x88, [0x03, 0xE8, 0xC3]), 1007),
        ("a close of one byte", WebSocketConnection.frame(0x88, [3]), 1002),
        ("a close with a code that is never sent", WebSocketConnection.frame(0x88, [0x03, 0xED]), 1002),
        ("a close without a code", WebSocketConnection.frame(0x88, []), 1000),
        ("a close with a code of the client", WebSocketConnection.frame(0x88, [0x0F, 0xA0, 0x61]), 4000),
        ("a request", Array("GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8), 1002),
    ]

    @Test(arguments: hostile.indices)
    func brokenFramesEndTheConnection(number: Int) async throws {
        let (name, bytes, code) = Self.hostile[number]
        try await withStream { daemon, port in
            try await WebSocketConnection.open(port, Self.path) { socket in
                socket.send(bytes: bytes)
                // Frames behind the broken one are not looked at.
                socket.send(#"{"type":"sing"}"#)
                let frame = try socket.message()
                #expect(try frame.closeCode == code && socket.isClosed(), "\(name)")
            }
            _ = try await daemon.post("{}")
            let again = try await WebSocketConnection.open(port, Self.path) { try $0.message().json }
            #expect(again["attempt"] == 1, "\(name)")
        }
    }

    /// Messages of 600 KiB, 256 KiB of which are held at a time.
    @Test func aClientThatReadsIsReadToTheEnd() async throws {
        try await withStream { _, port in
            try await WebSocketConnection.open(port, Self.path) { socket in
                let text = #"{"type":"sing","id":"dlv_1"}"# + String(repeating: " ", count: 1024)
                let frames = Array(repeating: WebSocketConnection.frame(0x81, Array(text.utf8)), count: 300)
                for _ in 0..<3 {
                    socket.send(bytes: frames.flatMap(\.self))
                    let codes = try frames.map { _ in try socket.message().json["code"] }
                    #expect(codes.allSatisfy { $0 == "unknown-message" })
                }
            }
        }
    }

    @Test func aClientThatEndsWithoutACloseFrameIsGone() async throws {
        try await withStream { daemon, port in
            _ = try await daemon.post("{}")
            try await WebSocketConnection.open(port, Self.path) { socket in
                let attempt = try socket.message().json["attempt"]
                socket.closeOurSide()
                #expect(try attempt == 1 && socket.isClosed())
            }
            let again = try await WebSocketConnection.open(port, Self.path) { try $0.message().json["attempt"] }
            #expect(again == 2)
        }
    }

    @Test func aMessageInFragmentsIsOne() async throws {
        try await withStream { _, port in
            try await WebSocketConnection.open(port, Self.path) { socket in
                socket.send(bytes: WebSocketConnection.frame(0x01, Array(#"{"type":"si"#.utf8)))
                socket.send(WebSocketConnection.ping, [1])
                socket.send(bytes: WebSocketConnection.frame(0x80, Array(#"ng","id":"x"}"#.utf8)))
                let frames = [try socket.message(), try socket.message()]
                #expect(frames[0].opcode == WebSocketConnection.pong && frames[1].json["code"] == "unknown-message")
            }
        }
    }

    @Test func aSilentClientIsLetGo() async throws {
        try await withStream({ $0.streams.heartbeat = .milliseconds(500) }) { _, port in
            try await WebSocketConnection.open(port, Self.path) { socket in
                let frames = [try socket.next(), try socket.message()]
                #expect(frames[0].opcode == WebSocketConnection.ping && frames[1].closeCode == 4002)
            }
        }
    }

    @Test func aClientThatAnswersPingsStays() async throws {
        try await withStream({ $0.streams.heartbeat = .milliseconds(500) }) { _, port in
            try await WebSocketConnection.open(port, Self.path) { socket in
                // Without an answer the daemon closes in place of the fifth one.
                for _ in 0..<8 {
                    let frame = try socket.next()
                    #expect(frame.opcode == WebSocketConnection.ping)
                    socket.send(WebSocketConnection.pong, [])
                }
            }
        }
    }

    @Test func aClientThatAsksAndDoesNotReadIsLetGo() async throws {
        try await withStream({ $0.streams.heartbeat = .milliseconds(20) }) { daemon, port in
            try await WebSocketConnection.open(port, Self.path) { socket in
                // Far more than the buffers of both sockets hold; it ends when the daemon closes.
                let pings = Array(
                    repeating: WebSocketConnection.frame(0x89, Array(repeating: 7, count: 125)), count: 8192
                ).flatMap(\.self)
                for _ in 0..<64 { socket.send(bytes: pings) }
                while let frame = try? socket.next(), frame.opcode != WebSocketConnection.close {}
            }
            // The daemon hears of the end in its event loop; the time limit of the suite is the bound.
            while daemon.host.streams.count > 0 { await Task.yield() }
        }
    }

    @Test(arguments: [
        ("Connection", "keep-alive", "400 invalid-handshake"),
        ("Sec-WebSocket-Version", "8", "426 websocket-version-not-supported"),
        ("Sec-WebSocket-Key", "c2hvcnQ=", "400 invalid-handshake"), ("Sec-WebSocket-Key", "", "400 invalid-handshake"),
        ("Sec-WebSocket-Protocol", "chat, other", "400 invalid-handshake"),
        ("Origin", "https://evil.example", "403 origin-not-local"), ("Content-Length", "2", "400 invalid-handshake"),
        ("Transfer-Encoding", "chunked", "400 invalid-handshake"), ("Content-Length", "0", "101"),
        ("Origin", "http://localhost", "101"), ("Sec-WebSocket-Protocol", "chat, routerd", "101"),
    ])
    func handshakesAreChecked(name: String, value: String, summary: String) async throws {
        try await withStream { _, port in
            let found = try await WebSocketConnection.open(port, Self.path, headers: [name: value]) { $0.head }
            #expect(found.summary == summary)
            if name == "Sec-WebSocket-Protocol", summary == "101" {
                #expect(found.headers["sec-websocket-protocol"] == "routerd")
            }
        }
    }

    @Test func refusalsAreAnswersOfHTTP() async throws {
        try await withStream { daemon, port in
            try await daemon.putSession("B", at: "http://127.0.0.1:9/")
            let other = "\(TestDaemon.gallery)/sessions/B/deliveries"
            let url = try await WebSocketConnection.open(port, other) { $0.head.summary }
            #expect(url == "409 not-a-stream")
            let poll = try await WebSocketConnection.open(port, "\(Self.path)?waitSeconds=1") { $0.head.summary }
            #expect(poll == "400 invalid-parameter")
        }
    }

    /// A browser's WebSocket has no header for its token.
    @Test(
        arguments: [
            ("Sec-WebSocket-Protocol", "routerd, routerd.token.TOKEN", nil, "101"),
            ("Authorization", "Bearer TOKEN", nil, "101"),
            ("Sec-WebSocket-Protocol", "routerd", nil, "401 key-missing"),
            ("Sec-WebSocket-Protocol", "routerd, routerd.token.rs_x", nil, "401 token-unknown"),
            ("Authorization", "Bearer TOKEN", "https://evil.example", "403 origin-not-allowed"),
            ("Authorization", "Bearer TOKEN", "https://app.example", "101"),
        ] as [(String, String, String?, String)])
    func aTokenMayBeASubprotocol(name: String, value: String, origin: String?, summary: String) async throws {
        var options = TestDaemon.Options(isLive: true)
        options.keys = [APIKey(name: "all", key: "rk_all", scopes: [.admin], application: nil)]
        options.edge.allowedOrigins = ["https://app.example"]
        try await withDaemon(options) { daemon in
            let headers = ["authorization": "Bearer rk_all"]
            func put(_ path: String, _ body: String) async throws {
                try await daemon.call(.put, path, body, headers: headers)
            }
            try await put(TestDaemon.gallery, #"{"displayName":"Gallery"}"#)
            try await put("\(TestDaemon.gallery)/sessions/A", #"{"endpoint":{"stream":true}}"#)
            let given = try await daemon.call(.post, "\(TestDaemon.gallery)/sessions/A/tokens", "{}", headers: headers)
            let token = try #require(given["token"].asString)
            var fields = [name: value.replacing("TOKEN", with: token)]
            fields["Origin"] = origin
            let sent = fields
            let port = try #require(daemon.client.port)
            let found = try await WebSocketConnection.open(port, Self.path, headers: sent) { $0.head }
            #expect(found.summary == summary)
            #expect(!"\(found.headers)".contains(token))
        }
    }

    @Test func http10HasNoWebSocket() async throws {
        try await withStream { daemon, port in
            let head = "GET \(Self.path) HTTP/1.0\r\nHost: localhost\r\n"
            let answers = try await RawConnection.exchange("\(head)\(WebSocketConnection.request)\r\n", with: port)
            #expect(answers.map(\.summary) == ["400 invalid-handshake"])
            let request = WebSocketConnection.request.replacing("Upgrade\r\n", with: "Upgrade, keep-alive\r\n")
            try await RawConnection.to(port) { connection in
                connection.send("\(head)\(request)\r\n")
                let answer = try connection.answer()
                #expect(answer.summary == "400 invalid-handshake" && daemon.host.streams.count == 0)
            }
        }
    }

    /// A client that asks and does not read is not read either.
    @Test func messagesCountUntilTheirReplyIsWritten() async {
        let inbox = WebSocketInbox()
        let reads = Tally()
        inbox.begin { reads.add() }
        let message = WebSocketInbox.Message.text(Array(repeating: 0x20, count: 1024))
        let cost = WebSocketInbox.cost(of: message)
        let count = DaemonLimits.webSocketHeldBytes / cost
        for _ in 0..<count {
            #expect(inbox.hasRoom)
            inbox.put(message)
        }
        #expect(!inbox.hasRoom)
        for _ in 0..<count { _ = await inbox.next() }
        #expect(!inbox.hasRoom && reads.count == 0)
        inbox.answered(cost)
        #expect(inbox.hasRoom && reads.count == 1)
        inbox.answered(cost)
        #expect(reads.count == 1)
        inbox.end()
        inbox.put(message)
        #expect(await inbox.next() == nil)
    }

    private static func next(of inbox: WebSocketInbox, counting handed: Tally) async -> WebSocketInbox.Message? {
        let message = await inbox.next()
        handed.add()
        return message
    }

    @Test("Of a flood of pings the last one is answered, after a pause without reads")
    func pingsHaveARate() async throws {
        let inbox = WebSocketInbox()
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandler(WebSocketReceiver(inbox))
        try await channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).get()
        let rate = DaemonLimits.webSocketPingsPerSecond
        for number in 0..<UInt8(rate * 3) {
            let frame = WebSocketFrame(
                fin: true, opcode: .ping, maskKey: WebSocketMaskingKey([0, 0, 0, 0]), data: ByteBuffer(bytes: [number]))
            try channel.writeInbound(frame)
        }
        channel.pipeline.fireChannelReadComplete()
        for number in 0..<UInt8(rate) { #expect(await inbox.next() == .ping([number])) }
        channel.embeddedEventLoop.advanceTime(by: .seconds(3))
        #expect(await inbox.next() == .ping([UInt8(rate * 3 - 1)]))
        inbox.end()
        #expect(await inbox.next() == nil)
    }

    /// One write of the client may bring more than the inbox holds; the rest waits in the queue.
    @Test func noMoreIsHandedOutThanIsHeld() async {
        let inbox = WebSocketInbox()
        let large = WebSocketInbox.Message.text(Array(repeating: 0x20, count: DaemonLimits.webSocketHeldBytes))
        inbox.put(large)
        inbox.put(.end(.normalClosure))
        #expect(await inbox.next() == large)
        let handed = Tally()
        async let next = Self.next(of: inbox, counting: handed)
        for _ in 0..<1000 { await Task.yield() }
        #expect(handed.count == 0)
        inbox.answered(WebSocketInbox.cost(of: large))
        #expect(await next == .end(.normalClosure))
    }
}
