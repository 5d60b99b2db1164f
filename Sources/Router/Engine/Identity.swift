package import RouterPlugin

/// Names for new things: ULIDs, made of the time and of randomness that are both handed in.
package enum Identity {
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    /// 26 characters: 48 bits of milliseconds, 80 random bits, in Crockford's base 32. Later ones sort behind.
    package static func ulid(at now: Timestamp, using generator: inout some RandomNumberGenerator) -> String {
        let time = UInt64(clamping: now.milliseconds) & 0xFFFF_FFFF_FFFF
        let high = UInt64.random(in: 0..<(1 << 40), using: &generator)
        let low = UInt64.random(in: 0..<(1 << 40), using: &generator)
        var text: [UInt8] = []
        text.reserveCapacity(26)
        for shift in stride(from: 45, through: 0, by: -5) { text.append(alphabet[Int(time >> UInt64(shift)) & 31]) }
        for part in [high, low] {
            for shift in stride(from: 35, through: 0, by: -5) { text.append(alphabet[Int(part >> UInt64(shift)) & 31]) }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// A notification's id.
    package static func notification(
        at now: Timestamp, using generator: inout some RandomNumberGenerator
    ) -> NotificationID {
        NotificationID(unchecked: notificationPrefix + ulid(at: now, using: &generator))
    }

    /// The id of a session that the router makes.
    package static func session(at now: Timestamp, using generator: inout some RandomNumberGenerator) -> SessionID {
        SessionID(unchecked: "ses_" + ulid(at: now, using: &generator))
    }

    /// The name under which a client keeps what onboarding has come to, if it has chosen none.
    package static func onboarding(at now: Timestamp, using generator: inout some RandomNumberGenerator) -> String {
        "onb_" + ulid(at: now, using: &generator)
    }

    /// The id of a replay.
    package static func replay(at now: Timestamp, using generator: inout some RandomNumberGenerator) -> ReplayID {
        ReplayID(unchecked: "rpl_" + ulid(at: now, using: &generator))
    }

    /// The delivery's id, which receivers see as `webhook-id`: the same over retries and re-routes.
    package static func delivery(of notification: NotificationID) -> String {
        "dlv_" + notification.text.dropFirst(notificationPrefix.utf8.count)
    }

    /// The notification of a delivery's id; nil if the text is no such id.
    package static func notification(ofDelivery text: String) -> NotificationID? {
        guard text.utf8.starts(with: "dlv_".utf8) else { return nil }
        return NotificationID(unchecked: notificationPrefix + text.dropFirst(4))
    }

    private static let notificationPrefix = "ntf_"
}

/// The engine's source of numbers, names and randomness: nothing else gives ids.
///
/// Numbers and names that a plan has used up are not given again, whether or not the plan is committed.
package struct Identities: Sendable {
    /// The greatest sequence given to a notification.
    package private(set) var lastSequence: NotificationSequence
    /// The greatest number given to a session.
    package private(set) var lastCreationSequence: Int64
    /// The same generator and the same commands give the same run.
    var generator: any RandomNumberGenerator & Sendable

    init(
        after sequence: NotificationSequence, _ creationSequence: Int64,
        generator: any RandomNumberGenerator & Sendable
    ) {
        lastSequence = sequence
        lastCreationSequence = creationSequence
        self.generator = generator
    }

    mutating func nextSequence() -> NotificationSequence {
        lastSequence = NotificationSequence(lastSequence.value + 1)
        return lastSequence
    }

    mutating func nextCreationSequence() -> Int64 {
        lastCreationSequence += 1
        return lastCreationSequence
    }

    mutating func notification(at now: Timestamp) -> NotificationID {
        Identity.notification(at: now, using: &generator)
    }

    mutating func onboarding(at now: Timestamp) -> String { Identity.onboarding(at: now, using: &generator) }

    mutating func replay(at now: Timestamp) -> ReplayID { Identity.replay(at: now, using: &generator) }

    /// A session that is to be told to connect. It can show everything, as UIKit's defaults say, until it says otherwise.
    mutating func session(
        _ configuration: ConfigurationChoice, of role: String, in application: ApplicationID, device: DeviceID?,
        at now: Timestamp
    ) -> SceneSession {
        let id = Identity.session(at: now, using: &generator)
        let name = if case .named(let name) = configuration { name } else { "" }
        return SceneSession(
            key: SessionKey(application: application, session: id), role: role, configuration: name, device: device,
            creationSequence: nextCreationSequence())
    }

    /// Goes on behind the numbers that another engine has given.
    mutating func skip(to sequence: NotificationSequence, _ creationSequence: Int64) {
        lastSequence = max(lastSequence, sequence)
        lastCreationSequence = max(lastCreationSequence, creationSequence)
    }
}
