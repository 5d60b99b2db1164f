/// Finds events in the bytes of a `text/event-stream`, however they are cut into pieces.
///
/// Reads the part of WHATWG's HTML format that routerd writes: lines end with LF or CRLF, and an empty line ends an
/// event. An `id` counts even where there is no event.
package struct EventStreamReader: Sendable {
    /// An event as received.
    package struct Event: Equatable, Sendable {
        package var type: String
        package var data: [UInt8]

        package init(type: String, data: [UInt8]) {
            self.type = type
            self.data = data
        }
    }

    /// The last id received; a client that reconnects sends it.
    package private(set) var lastID: String?
    private var line: [UInt8] = []
    private var type = ""
    private var data: [UInt8]?
    private var id: String?

    package init() {}

    /// The events completed by these bytes.
    package mutating func take(_ bytes: [UInt8]) -> [Event] {
        var events: [Event] = []
        for byte in bytes {
            guard byte == UInt8(ascii: "\n") else {
                line.append(byte)
                continue
            }
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            if let event = endLine() { events.append(event) }
            line = []
        }
        return events
    }

    private mutating func endLine() -> Event? {
        guard !line.isEmpty else { return endEvent() }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = line[colon...].dropFirst()
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        switch String(decoding: line[..<colon], as: UTF8.self) {
        case "id": id = String(decoding: value, as: UTF8.self)
        case "event": type = String(decoding: value, as: UTF8.self)
        case "data": data = data.map { $0 + [UInt8(ascii: "\n")] + value } ?? Array(value)
        default: break
        }
        return nil
    }

    private mutating func endEvent() -> Event? {
        defer { (type, data) = ("", nil) }
        lastID = id ?? lastID
        return data.map { Event(type: type, data: $0) }
    }
}
