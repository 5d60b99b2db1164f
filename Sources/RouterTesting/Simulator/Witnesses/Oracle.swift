import PredicateEngine
import Router
import RouterPlugin

/// A second implementation of the choice, by brute force: sorted lists and loops, no code shared with `Chooser`,
/// `RuleWalk` or any registry. Rules give their verdicts, but the oracle decides which candidates they see and what
/// follows.
struct Oracle {
    /// The expected outcome of a choice.
    struct Expectation: Hashable {
        enum Outcome: Hashable {
            case session(SessionID)
            /// Without a name the delegate is asked.
            case newSession(configuration: String)
            case held(until: Timestamp)
            case dropped
            case undeliverable
        }

        var outcome: Outcome
        var tier: Tier
        var vetoed: [SessionID]
        /// The vetoed sessions whose veto is the remote rule's.
        var vetoedRemotely: Set<SessionID> = []

        /// Whether no session could have it.
        var isWithoutSession: Bool {
            switch outcome {
            case .newSession, .undeliverable: true
            case .session, .held, .dropped: false
            }
        }
    }

    var application: Application
    /// All of the application's sessions, disabled ones included.
    var sessions: [SceneSession]
    var rules: [any RoutingRule]
    var now: Timestamp
    /// Sessions at which the delivery has failed, and which do not get it again.
    var tried: Set<SessionID> = []

    func expectation(for notification: NotificationView) -> Expectation {
        var remotely: Set<SessionID> = []
        var expectation = expectation(for: notification, &remotely)
        expectation.vetoedRemotely = remotely
        return expectation
    }

    private func expectation(for notification: NotificationView, _ remotely: inout Set<SessionID>) -> Expectation {
        let inScope = sessions.filter { notification.device == nil || $0.device == notification.device }
        let candidates = inScope.filter { $0.disabled == nil }
        var vetoed: [SessionID] = []
        for tier in [Tier.prefers, .can] {
            let ranked = candidates.filter { stands($0, in: tier, notification) }.sorted { isBetter($0, $1, tier) }
            if let outcome = walk(ranked, tier, notification, candidates, &vetoed, &remotely) {
                return Expectation(outcome: outcome, tier: tier, vetoed: vetoed)
            }
        }
        let configurations = application.manifest.sceneConfigurations
        let goneURLs = sessions.filter { $0.disabled?.reason == .gone }.compactMap { session in
            (session.endpoint ?? configurations.first { $0.name == session.configuration }?.endpoint)?.url
        }
        let demo = application.gates.onboarding?.demoConfiguration
        let open = configurations.filter { configuration in
            guard configuration.name != demo, let url = configuration.endpoint?.url, !goneURLs.contains(url) else {
                return false
            }
            return configuration.role == "windowApplication"
        }
        if vetoed.isEmpty, let first = open.first, application.manifest.supportsMultipleScenes || inScope.isEmpty {
            let isKiosk =
                notification.kind == .userActivity && UserActivity.activityType(in: notification.payload) == "kiosk"
            if isKiosk, let kiosk = open.first(where: { $0.activityTypes == ["kiosk"] }) {
                return Expectation(
                    outcome: .newSession(configuration: kiosk.name), tier: .newSession, vetoed: vetoed)
            }
            let isAsked = open.count > 1 && application.delegate != nil && application.delivery.lifeCycleEvents
            return Expectation(
                outcome: .newSession(configuration: isAsked ? "" : first.name), tier: .newSession, vetoed: vetoed)
        }
        return Expectation(outcome: .undeliverable, tier: .undeliverable, vetoed: vetoed)
    }

    func stands(_ session: SceneSession, in tier: Tier, _ notification: NotificationView) -> Bool {
        guard let content = notification.contentID?.text else { return tier == .can }
        let can = session.conditions.canActivate.evaluate(with: content)
        let prefers = session.conditions.prefersToActivate.evaluate(with: content)
        if tier == .can { return can }
        return prefers && (can || !application.routing.prefersRequiresCan)
    }

    func isBetter(_ left: SceneSession, _ right: SceneSession, _ tier: Tier) -> Bool {
        if tier == .prefers, left.conditions.preferenceLevel != right.conditions.preferenceLevel {
            return left.conditions.preferenceLevel > right.conditions.preferenceLevel
        }
        if left.activationState != right.activationState {
            return left.activationState.rawValue > right.activationState.rawValue
        }
        switch (left.lastActivatedAt, right.lastActivatedAt) {
        case (let left?, let right?) where left != right: return left > right
        case (.some, nil): return true
        case (nil, .some): return false
        default: return left.creationSequence < right.creationSequence
        }
    }

    private func walk(
        _ ranked: [SceneSession], _ tier: Tier, _ notification: NotificationView, _ candidates: [SceneSession],
        _ vetoed: inout [SessionID], _ remotely: inout Set<SessionID>
    ) -> Expectation.Outcome? {
        let looksAhead = rules.contains { $0.looksAhead }
        var inHand: SessionID?
        for session in ranked where !vetoed.contains(session.key.session) {
            switch ask(session, tier, notification, candidates, &remotely) {
            case .accepted:
                if !looksAhead { return .session(session.key.session) }
                inHand = inHand ?? session.key.session
            case .preferred: return .session(session.key.session)
            case .vetoed: vetoed.append(session.key.session)
            case .ended(let outcome): if inHand == nil { return outcome }
            }
        }
        return inHand.map { .session($0) }
    }

    enum Say {
        case accepted, preferred, vetoed
        case ended(Expectation.Outcome)
    }

    func ask(
        _ session: SceneSession, _ tier: Tier, _ notification: NotificationView, _ candidates: [SceneSession],
        _ remotely: inout Set<SessionID>
    ) -> Say {
        let candidate = Candidate(
            session: session.key.session, device: session.device, role: session.role,
            configuration: session.configuration, activationState: session.activationState,
            lastActivatedAt: session.lastActivatedAt, preferenceLevel: session.conditions.preferenceLevel, tier: tier)
        if tried.contains(session.key.session) { return .vetoed }
        var isPreferred = false
        for rule in rules {
            switch rule.verdict(on: candidate, for: notification, at: now) {
            case .accept: break
            case .prefer: isPreferred = true
            case .veto:
                if rule is RemoteRule { remotely.insert(session.key.session) }
                return .vetoed
            case .redirect(let target, _):
                let isCandidate = candidates.contains { $0.key.session == target }
                if isCandidate, target != session.key.session { return .ended(.session(target)) }
            case .hold(let until, _): return .ended(.held(until: until))
            case .drop: return .ended(.dropped)
            }
        }
        return isPreferred ? .preferred : .accepted
    }
}
