package import NIOCore
package import RouterPlugin

/// Events in WHATWG's format `text/event-stream`.
///
///     id: 01J…-17
///     event: scene.didBecomeActive
///     data: {"id":"01J…-17","type":"scene.didBecomeActive",…}
package struct ServerSentEvents: Sendable {
    /// The run that the numbers belong to.
    package let run: String

    package init(run: String) {
        self.run = run
    }

    package func append(_ event: RouterEvent, to buffer: inout ByteBuffer) {
        let data = JSONWriter.object { object in
            object.field("id", id(event.sequence))
            event.write(to: &object)
        }
        append(event.type.rawValue, at: event.sequence, data, to: &buffer)
    }

    /// Writes that events are missing; null if their number is unknown.
    package func appendGap(_ missed: EventRing.Missed, before place: Int64, to buffer: inout ByteBuffer) {
        let count: Int64? = if case .events(let count) = missed { count } else { nil }
        let data = JSONWriter.object { object in
            object.field("id", id(place))
            object.field("type", "gap")
            object.field("missed", count)
        }
        append("gap", at: place, data, to: &buffer)
    }

    /// Writes that no event has occurred, with the current place: a client that is shown few events would otherwise
    /// resume after the last event shown, when the ring has long forgotten it.
    package func appendHeartbeat(at place: Int64, to buffer: inout ByteBuffer) {
        buffer.writeString(":\nid: \(id(place))\n\n")
    }

    private func append(_ name: String, at place: Int64, _ data: [UInt8], to buffer: inout ByteBuffer) {
        buffer.writeString("id: \(id(place))\nevent: \(name)\ndata: ")
        buffer.writeBytes(data)
        buffer.writeString("\n\n")
    }

    private func id(_ sequence: Int64) -> String { "\(run)-\(sequence)" }

    /// The place that a client has reached; nil if the id was never given to a client.
    package func place(of id: String) -> FeedPlace? {
        let parts = id.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == run.utf8.count, let sequence = Int64(parts[1]), sequence >= 0
        else { return nil }
        return parts[0].utf8.elementsEqual(run.utf8) ? .here(sequence) : .elsewhere
    }
}
