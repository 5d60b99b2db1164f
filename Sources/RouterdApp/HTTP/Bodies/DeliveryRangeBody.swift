import Router
import RouterPlugin

/// A range of the numbered deliveries of a session, each number once.
///
///     {"deliveries": [{"sequence": 42, "id": "dlv_…", "state": "delivered", "attempt": 1, "envelope": {…}},
///                     {"sequence": 43, "id": "dlv_…", "state": "expired"}], "last": 57, "next": 43}
///
/// The envelope is that of a delivered delivery alone: others are brought by the stream, when gates and order permit it, or
/// not at all. Answers leave out envelopes for the next person, and at a closed gate.
enum DeliveryRangeBody {
    /// States of a number, beside those of notifications.
    private enum Fate: String {
        /// The notification has gone to another session, or has come back under a later number.
        case moved
        /// Retention has ended.
        case forgotten
    }

    /// - Parameter past: The deliveries that the person at the session may see.
    /// - Throws: ``DeliveryFormatError`` if the standard format cannot render a message.
    static func write(
        _ range: NumberedDeliveries, after: Int64, to session: SceneSession, showing past: PastDeliveries,
        by webhooks: WebhookSender
    ) throws -> [UInt8] {
        var items = Dictionary(uniqueKeysWithValues: range.items.map { ($0.number, $0) })
        var envelopes: [Int64: [UInt8]] = [:]
        for item in range.items where item.isHere && item.notification.state == .delivered {
            guard let payload = item.notification.payload, past.show(item.notification.header) else { continue }
            let message = DeliveryMessage(arrived: item.notification, payload, at: session)
            envelopes[item.number] = try webhooks.envelope(of: message)
        }
        return JSONWriter.object { body in
            body.array("deliveries") { list in
                for number in after..<range.through {
                    let item = items.removeValue(forKey: number + 1)
                    list.object { write(number + 1, item, envelopes[number + 1], to: &$0) }
                }
            }
            body.field("last", range.last)
            if range.through < range.last { body.field("next", range.through) }
        }
    }

    private static func write(
        _ number: Int64, _ item: NumberedDeliveries.Item?, _ envelope: [UInt8]?, to object: inout JSONObjectWriter
    ) {
        object.field("sequence", number)
        guard let item else { return object.field("state", Fate.forgotten.rawValue) }
        object.field("id", Identity.delivery(of: item.notification.id))
        object.field("state", item.isHere ? item.notification.state.rawValue : Fate.moved.rawValue)
        guard let envelope else { return }
        object.field("attempt", item.notification.progress.attempts)
        object.raw("envelope", envelope)
    }
}
