import NIOCore
import NIOWebSocket

/// The messages of a client, assembled from its frames: RFC 6455, 5 and 7.4.
///
///     between messages ──text──▶ within a message ──continuation──▶ … ──final frame──▶ between messages
///
/// Control frames may come between the fragments of a message. The decoder has bounded each frame and checked its length; the
/// other rules for a client's frames are checked here.
struct WebSocketAssembly {
    enum Event: Equatable, Sendable {
        case text([UInt8])
        case ping([UInt8])
        /// The client closes the connection, or breaks the protocol: the code of the daemon's close frame.
        case end(WebSocketErrorCode)
    }

    /// The fragments of a message whose final one has not come; nil between messages.
    private var fragments: [UInt8]?

    /// Takes the next frame. The event is nil if the frame completes nothing, or is a pong.
    mutating func take(_ frame: WebSocketFrame) -> Event? {
        guard frame.maskKey != nil, frame.reservedBits.isEmpty else { return .end(.protocolError) }
        let bytes = Array(frame.unmaskedData.readableBytesView)
        switch frame.opcode {
        case .text: return fragments == nil ? append(bytes, isFinal: frame.fin) : .end(.protocolError)
        case .continuation: return fragments == nil ? .end(.protocolError) : append(bytes, isFinal: frame.fin)
        case .ping: return .ping(bytes)
        case .pong: return nil
        case .connectionClose: return .end(Self.reply(to: bytes))
        case .binary: return .end(.unacceptableData)
        default: return .end(.protocolError)
        }
    }

    private mutating func append(_ bytes: [UInt8], isFinal: Bool) -> Event? {
        var text = fragments ?? []
        // Appended in place: a message may come in a fragment a byte.
        fragments = nil
        text += bytes
        guard text.count <= DaemonLimits.webSocketBytes else { return .end(.messageTooLarge) }
        guard isFinal else {
            fragments = text
            return nil
        }
        return Self.isText(text) ? .text(text) : .end(.dataInconsistentWithMessage)
    }

    /// The code that answers a client's close frame.
    private static func reply(to close: [UInt8]) -> WebSocketErrorCode {
        if close.isEmpty { return .normalClosure }
        guard close.count > 1 else { return .protocolError }
        guard isText(Array(close.dropFirst(2))) else { return .dataInconsistentWithMessage }
        let code = Int(close[0]) << 8 | Int(close[1])
        // 1004 to 1006 and 1015 are never sent.
        let isSent = (1000...1003).contains(code) || (1007...1014).contains(code) || (3000...4999).contains(code)
        return isSent ? WebSocketErrorCode(codeNumber: code) : .protocolError
    }

    private static func isText(_ bytes: [UInt8]) -> Bool { String(validating: bytes, as: UTF8.self) != nil }
}
