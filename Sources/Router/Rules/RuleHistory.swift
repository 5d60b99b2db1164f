package import RouterPlugin

/// The past of an application, as far as rules of a choice look at it: facts that are read before the choice.
package struct RuleHistory: Sendable {
    /// The parts that a rule looks at. Applications without such rules read nothing.
    package struct Parts: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The numbers of deliveries that wait.
        package static let lanes = Parts(rawValue: 1)
        /// The last notifications about the same content.
        package static let content = Parts(rawValue: 2)
        /// The last notifications of the application.
        package static let application = Parts(rawValue: 4)
    }

    /// A notification that a session has taken, or that waits for it.
    package struct Taken: Hashable, Sendable {
        package let session: SessionID
        /// The time of its delivery; nil while it waits.
        package let time: Timestamp?

        package init(_ session: SessionID, at time: Timestamp?) {
            self.session = session
            self.time = time
        }

        /// Nil for events, and for notifications that no session has taken or is about to take.
        package init?(_ stored: StoredNotification) {
            guard stored.event == nil, let session = stored.decision.session else { return nil }
            switch stored.state {
            case .delivered: self.init(session, at: stored.settledAt)
            case .waiting: self.init(session, at: nil)
            default: return nil
            }
        }
    }

    /// The last notifications about the same content, the last one accepted first.
    package let ofContent: [Taken]
    /// The last notifications of the application, the last one accepted first.
    package let ofApplication: [Taken]
    /// The number of deliveries that wait for a session.
    package let waiting: @Sendable (SessionID) -> Int

    package init(
        ofContent: [Taken] = [], ofApplication: [Taken] = [],
        waiting: @escaping @Sendable (SessionID) -> Int = { _ in 0 }
    ) {
        self.ofContent = ofContent
        self.ofApplication = ofApplication
        self.waiting = waiting
    }
}

extension [RuleHistory.Taken] {
    /// When fewer than `limit` of these will have been taken within the last `seconds`; nil if that is so now. A
    /// notification that waits counts as taken now.
    package func fallsBelow(_ limit: Int, within seconds: Int64, at now: Timestamp) -> Timestamp? {
        let start = now.advanced(byMilliseconds: -seconds * 1000)
        let times = map { $0.time ?? now }.filter { $0 > start }.sorted(by: >)
        guard times.count >= limit, limit > 0 else { return nil }
        let end = Swift.min(times[limit - 1], now).advanced(byMilliseconds: seconds * 1000)
        return end > now ? end : nil
    }
}

/// A rule with an order for the candidates of one notification: the smallest load first, and the better candidate first among
/// equal loads. The order is that of the best `RoutingLimits.lookAhead` candidates; the others
/// follow as they are.
package struct CandidateOrder: RoutingRule {
    package private(set) var id: PluginID
    private let load: @Sendable (SceneSession, Tier) -> Int
    private let unit: String
    /// The rule with the verdicts; nil accepts every candidate.
    private let rule: (any RoutingRule)?

    /// The order of the shortest lanes.
    package init(id: PluginID, load: @escaping @Sendable (SessionID) -> Int) {
        (self.id, self.load) = (id, { session, _ in load(session.key.session) })
        (unit, rule) = ("waiting in its lane", nil)
    }

    /// The order of a rule for one notification.
    init(_ rule: any OrderingRule, for notification: NotificationView, at now: Timestamp) {
        (id, self.rule, unit) = (rule.id, rule, "is its rank")
        load = { session, tier in rule.rank(of: session.candidate(in: tier), for: notification, at: now) }
    }

    package var looksAhead: Bool { rule?.looksAhead ?? false }

    package func verdict(
        on candidate: Candidate, for notification: NotificationView, at now: Timestamp
    ) -> RoutingVerdict {
        rule?.verdict(on: candidate, for: notification, at: now) ?? .accept
    }

    /// The same order under another name.
    func named(_ id: PluginID) -> CandidateOrder {
        var order = self
        order.id = id
        return order
    }

    func sorted(_ sessions: [SceneSession], in tier: Tier) -> [SceneSession] {
        sessions.enumerated().map { (load: load($1, tier), place: $0, session: $1) }
            .sorted { ($0.load, $0.place) < ($1.load, $1.place) }.map(\.session)
    }

    /// The ending with the reason of the order, unless it has one of another rule.
    func noted(_ ending: RuleWalk.Ending) -> RuleWalk.Ending {
        guard case .taken(let session, let tier, because: nil) = ending else { return ending }
        return .taken(session, tier, because: "\(id): \(load(session, tier.tier)) \(unit)")
    }
}

extension Pipeline {
    /// The lookups behind the history that rules look at; none for most applications.
    func needs(historyOf application: ApplicationID, about content: ContentID?) -> [Lookup] {
        guard chooser.ruleSet.readsHistory else { return [] }
        let parts = chooser.ruleSet.history(readOf: application)
        var lookups: [Lookup] = []
        if parts.contains(.content), let content {
            lookups.append(.taken(application, content, limit: RouterLimits.takenOfContent))
        }
        if parts.contains(.application) {
            lookups.append(.taken(application, nil, limit: RouterLimits.takenOfApplication))
        }
        return lookups
    }

    /// The history that rules look at; nil if there are no such rules for the application. A plan with a history relies on
    /// the notifications of the application, so that it sees those of the same transaction.
    func history(
        of application: ApplicationID, about content: ContentID?, _ lanes: LaneView?, in plan: inout PlanDraft
    ) throws(MissingFacts) -> RuleHistory? {
        guard chooser.ruleSet.readsHistory else { return nil }
        let parts = chooser.ruleSet.history(readOf: application)
        if parts.isEmpty { return nil }
        plan.touch(.notifications(application))
        var (ofContent, ofApplication): ([RuleHistory.Taken], [RuleHistory.Taken]) = ([], [])
        for lookup in needs(historyOf: application, about: content) {
            let taken = try plan.facts.taken(lookup)
            if case .taken(_, nil, _) = lookup { ofApplication = taken } else { ofContent = taken }
        }
        guard parts.contains(.lanes), let lanes else {
            return RuleHistory(ofContent: ofContent, ofApplication: ofApplication)
        }
        return RuleHistory(ofContent: ofContent, ofApplication: ofApplication) { session in
            lanes[SessionKey(application: application, session: session)]?.queue.count ?? 0
        }
    }
}
