import RouterPlugin
import RouterdApp

/// A client's WebSocket, which sends frames as they are given, valid or not.
final class WebSocketConnection {
    struct Frame: Sendable {
        let opcode: UInt8
        let payload: [UInt8]

        /// The message of a text frame.
        var json: JSONValue { (try? JSONValue(parsing: payload, limits: .received)) ?? .null }
        /// The code of a close frame.
        var closeCode: Int? { opcode == 8 && payload.count > 1 ? Int(payload[0]) << 8 | Int(payload[1]) : nil }
    }

    static let text: UInt8 = 1
    static let close: UInt8 = 8
    static let ping: UInt8 = 9
    static let pong: UInt8 = 10

    private let connection: RawConnection
    let head: RawAnswer

    init(_ connection: RawConnection, _ path: String, _ headers: [String: String] = [:]) throws {
        self.connection = connection
        connection.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\(Self.lines(headers))\r\n")
        head = try connection.answer()
    }

    /// The header fields of a handshake.
    static var request: String { lines([:]) }

    private static func lines(_ headers: [String: String]) -> String {
        var fields = [
            "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        ]
        fields.merge(headers) { $1 }
        return fields.filter { !$0.value.isEmpty }.map { "\($0.key): \($0.value)\r\n" }.joined()
    }

    /// Runs `body` with a WebSocket, on a thread of its own.
    static func open<Value: Sendable>(
        _ port: Int, _ path: String, headers: [String: String] = [:],
        _ body: @escaping @Sendable (WebSocketConnection) throws -> Value
    ) async throws -> Value {
        try await RawConnection.to(port) { try body(WebSocketConnection($0, path, headers)) }
    }

    func send(bytes: [UInt8]) { connection.send(bytes) }

    /// Sends a whole frame.
    func send(_ opcode: UInt8, _ payload: [UInt8]) { send(bytes: Self.frame(0x80 | opcode, payload)) }

    func send(_ text: String) { send(Self.text, Array(text.utf8)) }

    /// A frame with a mask.
    static func frame(_ first: UInt8, _ payload: [UInt8]) -> [UInt8] {
        let mask: [UInt8] = [0x11, 0x22, 0x33, 0x44]
        var bytes = [first]
        switch payload.count {
        case ...125: bytes.append(0x80 | UInt8(payload.count))
        case ...0xFFFF: bytes += [0xFE, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        default: bytes += [0xFF] + (0..<8).reversed().map { UInt8(payload.count >> ($0 * 8) & 0xFF) }
        }
        return bytes + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
    }

    /// The next frame of the daemon.
    func next() throws -> Frame {
        let head = try connection.bytes(2)
        var length = Int(head[1])
        if length == 126 {
            length = try connection.bytes(2).reduce(0) { $0 << 8 | Int($1) }
        } else if length == 127 {
            length = try connection.bytes(8).reduce(0) { $0 << 8 | Int($1) }
        }
        return Frame(opcode: head[0] & 0xF, payload: try connection.bytes(length))
    }

    /// The next frame that is no ping.
    func message() throws -> Frame {
        while true {
            let frame = try next()
            if frame.opcode != Self.ping { return frame }
        }
    }

    func closeOurSide() { connection.closeOurSide() }

    /// Whether the daemon closes the connection without another frame.
    func isClosed() throws -> Bool { try connection.bytesToTheEnd().isEmpty }
}
