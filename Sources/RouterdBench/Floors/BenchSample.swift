import Router
import RouterPlugin

/// A notification and an attempt of typical size, for the floors.
enum BenchSample {
    /// 1 KiB, as a notification with a picture's address and some text has.
    static let payload: [UInt8] = JSONWriter.object { body in
        body.object("aps") { $0.field("alert", String(repeating: "a word or two ", count: 65)) }
        body.field("notification-content-id", "gallery://photo/7")
    }

    static func notification(_ number: Int64) -> NewNotification {
        let now = Timestamp(milliseconds: 1_767_225_600_000 + number)
        let header = NotificationHeader(
            sequence: NotificationSequence(number), id: NotificationID(unchecked: "ntf_\(number)"),
            application: ApplicationID(unchecked: "com.example.Gallery"),
            contentID: ContentID(unchecked: "gallery://photo/7"), receivedAt: now)
        return NewNotification(
            header, source: PluginID(unchecked: "routerd.source.push"), payload: .json(payload),
            decision: Decision(tier: .can, session: SessionID(unchecked: "main"), reason: "can: TRUEPREDICATE"),
            placement: .lane)
    }

    static func attempt(_ notification: NewNotification) -> AttemptRecord {
        AttemptRecord(
            sequence: notification.sequence, number: 1, session: SessionID(unchecked: "main"),
            startedAt: notification.receivedAt, status: 204, failure: nil, retryAfterSeconds: nil,
            metrics: TransferMetrics(), responseExcerpt: [])
    }
}
