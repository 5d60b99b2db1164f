import RouterPlugin
import RouterdApp

/// A client's stream of server-sent events: on a connection of its own, read chunk by chunk.
final class StreamConnection {
    /// The lines between two empty lines.
    struct Event: Sendable {
        var id = ""
        /// Empty for a heartbeat.
        var type = ""
        var data = JSONValue.null
    }

    private let connection: RawConnection
    private var text: [UInt8] = []
    private var hasEnded = false

    /// Requests a stream, and reads the head of the answer; throws if the stream is refused.
    ///
    /// - Parameter query: The query of the stream of events, or the path of another stream.
    init(_ connection: RawConnection, _ query: String, _ headers: [String: String]) throws {
        self.connection = connection
        let lines = headers.map { "\($0): \($1)\r\n" }.joined()
        let path = query.hasPrefix("/") ? query : "/v1/stream\(query)"
        connection.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\(lines)\r\n")
        head = try connection.answer()
    }

    let head: RawAnswer

    /// Runs `body` with a stream, on a thread of its own.
    static func open<Value: Sendable>(
        _ port: Int, _ query: String = "", headers: [String: String] = [:],
        _ body: @escaping @Sendable (StreamConnection) throws -> Value
    ) async throws -> Value {
        try await RawConnection.to(port) { try body(StreamConnection($0, query, headers)) }
    }

    /// The head of the answer alone.
    static func head(_ port: Int, headers: [String: String]) throws -> RawAnswer {
        try StreamConnection(RawConnection(port), "", headers).head
    }

    /// The next event or heartbeat; nil when the stream has ended properly.
    func next() throws -> Event? {
        let end = Array("\n\n".utf8)
        while true {
            if let place = text.indices.first(where: { text[$0...].starts(with: end) }) {
                defer { text.removeFirst(place + end.count) }
                return Self.event(text[..<place])
            }
            guard !hasEnded else { return nil }
            let chunk = try connection.chunk()
            hasEnded = chunk.isEmpty
            text += chunk
        }
    }

    /// The next events, without heartbeats.
    func events(_ count: Int) throws -> [Event] {
        var events: [Event] = []
        while events.count < count {
            guard let event = try next() else { throw ProgramError(reason: "the stream ended after \(events.count)") }
            if !event.type.isEmpty { events.append(event) }
        }
        return events
    }

    func closeOurSide() { connection.closeOurSide() }

    private static func event(_ bytes: ArraySlice<UInt8>) -> Event {
        var event = Event()
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            let sides = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let value = String(sides.last?.drop { $0 == " " } ?? "")
            switch sides.first {
            case "id": event.id = value
            case "event": event.type = value
            case "data": event.data = (try? JSONValue(parsing: Array(value.utf8), limits: .received)) ?? .null
            default: break
            }
        }
        return event
    }
}

/// Lets a thread of its own wait for tasks, and tasks wait for the thread.
extension StreamConnection {
    /// Runs `body` on the stream in the background of `others`, which begins when the stream is open.
    static func follow<Value: Sendable, Other: Sendable>(
        _ port: Int, _ query: String = "", headers: [String: String] = [:],
        _ body: @escaping @Sendable (StreamConnection) throws -> Value,
        while others: @Sendable () async throws -> Other
    ) async throws -> Value {
        let isOpen = Tally()
        async let value = open(port, query, headers: headers) { stream in
            // The first heartbeat names the place from which the client receives events.
            _ = try stream.next()
            isOpen.add()
            return try body(stream)
        }
        try await isOpen.reached(1)
        _ = try await others()
        return try await value
    }
}
