import PredicateEngine
import RouterPlugin

/// A session as answers show it, with its screen.
package struct ShownSession: Sendable {
    package let session: SceneSession
    /// Nil without a gate.
    package let screen: ApplicationScreen?
    /// Whether its `userInfo` and its restoration activity are left out: they are the person's, who is not there.
    package let isCovered: Bool
    /// The obstacle between this node and the receiver, nil within for a reachable one; nil where answers leave it out.
    package let unreachable: Unreachable??

    package init(
        session: SceneSession, screen: ApplicationScreen? = nil, isCovered: Bool = false,
        unreachable: Unreachable?? = nil
    ) {
        (self.session, self.screen, self.isCovered, self.unreachable) = (session, screen, isCovered, unreachable)
    }

    /// Names the present values of the fields that a client puts, as far as they are shown: an entity tag without its quotes.
    package var version: String {
        var digest = Digest()
        for text in [session.role, session.configuration, session.device?.text, session.activationState.name] {
            digest.add(text)
        }
        digest.add(session.conditions.canActivate.description)
        digest.add(session.conditions.prefersToActivate.description)
        digest.add(String(session.conditions.preferenceLevel))
        digest.add(session.endpoint?.url)
        digest.add(session.endpoint.map { JSONValue.object($0.format.json).serialized() })
        digest.add(isCovered ? nil : session.stateRestorationActivity?.bytes)
        digest.add(isCovered ? nil : session.userInfo.bytes)
        digest.add(session.leaseSeconds.map(String.init))
        digest.add(session.whileAway?.rawValue)
        for observer in session.observers { digest.add(observer.text) }
        return String(digest.value, radix: 36)
    }

    /// FNV-1a of texts, each with its end.
    private struct Digest {
        private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

        mutating func add(_ text: String?) { add(text.map { Array($0.utf8) }) }

        /// Bytes that no text in UTF-8 has stand for its end, and for one that is not there.
        mutating func add(_ bytes: [UInt8]?) {
            for byte in bytes.map({ $0 + [0xFF] }) ?? [0xFE] { value = (value ^ UInt64(byte)) &* 0x0100_0000_01b3 }
        }
    }
}

/// The past deliveries of a session that the person at its device may see.
package struct PastDeliveries: Sendable {
    let device: DeviceID?
    let isCovered: Bool
    let forgottenThrough: NotificationSequence?

    /// Whether answers show the content of a delivery: the gate is open, no reset has come after it, and the session is still on
    /// the device that it names.
    package func show(_ delivery: NotificationHeader) -> Bool {
        let isForgotten = forgottenThrough.map { delivery.sequence <= $0 } ?? false
        let isElsewhere = delivery.device != nil && delivery.device != device
        return !isCovered && !isForgotten && !isElsewhere
    }
}
