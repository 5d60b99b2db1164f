import PredicateEngine
package import RouterPlugin

/// A session with the results of its predicates.
package struct ExaminedSession: Hashable, Sendable {
    package var session: SessionID
    /// The session's tier; nil if it is no candidate.
    package var tier: MatchTier?
    /// Nil if the content is not named: predicates are then not evaluated.
    package var can: Bool?
    package var prefers: Bool?
}

extension SessionStore {
    /// Takes a session: its slot, its tier, and whether it can and prefers. Returns whether more sessions are wanted.
    typealias ShowExamined = (UInt32, MatchTier?, Bool?, Bool?) -> Bool

    /// Shows every session in scope once, as in `IndexedRegistry.examine`. Each predicate is evaluated once, however
    /// many sessions share it, and all of them on one subject.
    func examine(
        _ query: RegistryQuery, hasCandidates: Bool, steps: Int, _ work: inout DecisionWork, _ show: ShowExamined
    ) -> IndexEffort {
        guard let subject = query.subject else {
            visit(.can, query, &work) { show($0, .can, nil, nil) }
            return IndexEffort()
        }
        let records = records.base
        return work.answers(of: index, about: subject) { answers in
            var seen: Set<UInt32> = []
            var isWanted = true
            func mayGoOn() -> Bool {
                if answers.haveGivenUp { isWanted = false }
                let taken = answers.effort.compared + IndexEffort.stepsOfQuestion * answers.questions
                if taken >= steps, !seen.isEmpty { isWanted = false }
                return isWanted
            }
            func showOnce(_ slot: UInt32, _ tier: MatchTier?) -> Bool {
                guard mayGoOn(), !seen.contains(slot) else { return isWanted }
                let record = records[Int(slot)]
                let (can, prefers) = (answers.holds(record.can), answers.holds(record.prefers))
                guard mayGoOn() else { return false }
                if tier == .prefers, query.prefersRequiresCan, !can { return true }
                seen.insert(slot)
                isWanted = show(slot, tier, can, prefers)
                return isWanted
            }
            if hasCandidates {
                if let device = query.device {
                    examine(devices[device], query, answers, { mayGoOn() }, { showOnce($0, $1) })
                } else {
                    examine(answers, { mayGoOn() }, { showOnce($0, $1) })
                }
            }
            // Without a subject every session is a candidate, so this visit reaches the other sessions too, and looks
            // at no more of them than are shown.
            if mayGoOn() {
                var unlimited = DecisionWork.unlimited
                visit(.can, RegistryQuery(device: query.device, contentID: nil), &unlimited) { showOnce($0, nil) }
            }
            return answers.effort
        }
    }

    /// The candidates among the sessions of a device. Sessions behind the last one wanted are not evaluated.
    private func examine(
        _ slots: [UInt32], _ query: RegistryQuery, _ answers: NodeAnswers, _ mayGoOn: () -> Bool,
        _ show: (UInt32, MatchTier) -> Bool
    ) {
        for tier in MatchTier.allCases {
            var frontier = SessionFrontier(tier: tier, order: order)
            for slot in slots { frontier.open(.nothing, slot) }
            let isWanted = letOut(of: &frontier) { slot in
                mayGoOn() && (!stands(slot, in: tier, query, answers) || show(slot, tier))
            }
            guard isWanted else { return }
        }
    }

    /// The candidates of all devices. Nodes that are a prefers predicate come first: sessions that can by such a node
    /// wait until all of these nodes have been evaluated.
    private func examine(
        _ answers: NodeAnswers, _ mayGoOn: () -> Bool, _ show: (UInt32, MatchTier) -> Bool
    ) {
        var prefers = SessionFrontier(tier: .prefers, order: order)
        var can = SessionFrontier(tier: .can, order: order)
        func letOut(above rank: UInt64) -> Bool {
            guard self.letOut(of: &prefers, above: rank, { show($0, .prefers) }) else { return false }
            return rank >= PackedRank.prefersBit || self.letOut(of: &can, above: rank) { show($0, .can) }
        }
        index.visit(answers, nodeOrder) { rank in
            letOut(above: rank) && mayGoOn()
        } _: { node in
            let groups = groups(of: node)
            open(groups.prefers, &prefers)
            open(groups.can, &can)
            return true
        }
        if mayGoOn() { _ = letOut(above: 0) }
    }
}
