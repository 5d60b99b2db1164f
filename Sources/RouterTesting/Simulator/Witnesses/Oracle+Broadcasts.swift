import Router
import RouterPlugin

/// The receivers of a broadcast, by brute force.
extension Oracle {
    struct Receiver: Hashable {
        var session: SessionID
        var tier: Tier
        var heldUntil: Timestamp?
    }

    /// Every session that can have the notification and that no rule keeps from it, best first, each once.
    func receivers(of notification: NotificationView) -> [Receiver] {
        let candidates = sessions.filter { session in
            session.disabled == nil && (notification.device == nil || session.device == notification.device)
        }
        var receivers: [Receiver] = []
        var remotely: Set<SessionID> = []
        var left = candidates
        for tier in [Tier.prefers, .can] {
            let ranked = left.filter { stands($0, in: tier, notification) }.sorted { isBetter($0, $1, tier) }
            left.removeAll { stands($0, in: tier, notification) }
            for session in ranked {
                var receiver = Receiver(session: session.key.session, tier: tier)
                switch ask(session, tier, notification, candidates, &remotely) {
                case .accepted, .preferred: break
                case .ended(.session(let target)): receiver.session = target
                case .ended(.held(let until)): receiver.heldUntil = until
                case .vetoed, .ended: continue
                }
                if !receivers.contains(where: { $0.session == receiver.session }) { receivers.append(receiver) }
            }
        }
        return receivers
    }

    /// The outcome for the one session that may have the notification.
    func outcome(for notification: NotificationView, only id: SessionID) -> Expectation.Outcome {
        let candidates = sessions.filter { session in
            session.disabled == nil && (notification.device == nil || session.device == notification.device)
        }
        guard let session = candidates.first(where: { $0.key.session == id }),
            let tier = [Tier.prefers, .can].first(where: { stands(session, in: $0, notification) })
        else { return .undeliverable }
        var remotely: Set<SessionID> = []
        switch ask(session, tier, notification, candidates, &remotely) {
        case .accepted, .preferred: return .session(id)
        case .ended(.held(let until)): return .held(until: until)
        case .ended(.dropped): return .dropped
        case .vetoed, .ended: return .undeliverable
        }
    }
}
