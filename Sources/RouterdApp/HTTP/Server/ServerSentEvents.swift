package import NIOCore
package import RouterPlugin

/// Events as WHATWG's `text/event-stream` has them.
///
///     id: 01J…-17
///     event: scene.didBecomeActive
///     data: {"id":"01J…-17","type":"scene.didBecomeActive",…}
package struct ServerSentEvents: Sendable {
    /// Names the run that the numbers are of.
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

    /// That events are missing; null if nobody knows how many.
    package func appendGap(_ missed: EventRing.Missed, before place: Int64, to buffer: inout ByteBuffer) {
        let count: Int64? = if case .events(let count) = missed { count } else { nil }
        let data = JSONWriter.object { object in
            object.field("id", id(place))
            object.field("type", "gap")
            object.field("missed", count)
        }
        append("gap", at: place, data, to: &buffer)
    }

    /// That nothing has happened. It names the place all the same: a client that is shown few events would otherwise ask
    /// for those after the last of them, when all of them are forgotten.
    package func appendHeartbeat(at place: Int64, to buffer: inout ByteBuffer) {
        buffer.writeString(":\nid: \(id(place))\n\n")
    }

    private func append(_ name: String, at place: Int64, _ data: [UInt8], to buffer: inout ByteBuffer) {
        buffer.writeString("id: \(id(place))\nevent: \(name)\ndata: ")
        buffer.writeBytes(data)
        buffer.writeString("\n\n")
    }

    private func id(_ sequence: Int64) -> String { "\(run)-\(sequence)" }

    /// The place that a client has come to; nil if it is none that was ever given to one.
    package func place(of id: String) -> FeedPlace? {
        let parts = id.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == run.utf8.count, let sequence = Int64(parts[1]), sequence >= 0
        else { return nil }
        return parts[0].utf8.elementsEqual(run.utf8) ? .here(sequence) : .elsewhere
    }
}
