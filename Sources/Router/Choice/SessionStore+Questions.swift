import PredicateEngine
import RouterPlugin

extension SessionStore {
    /// The best session of the first tier that has one; nil, too, if the work is unfinished.
    @inline(__always)
    func best(for query: RegistryQuery, _ work: inout DecisionWork) -> (tier: MatchTier, slot: UInt32)? {
        guard query.isForAllDevices else { return bestOfDevice(query, &work) }
        guard let subject = query.subject else { return all.best.map { (.can, $0) } }
        if work.isResumed { return resumedBest(for: query, &work) }
        var effort = IndexEffort()
        let found = index.best(for: subject, nodeOrder, limit: work.left, &effort)
        work.add(effort.steps &+ Self.steps(of: subject), hasGivenUp: effort.hasGivenUp)
        guard let node = found else { return nil }
        return best(of: node, query, subject, &work)
    }

    /// The same in another try: the first node of a visit that goes on where the one before gave up.
    @inline(never)
    private func resumedBest(
        for query: RegistryQuery, _ work: inout DecisionWork
    ) -> (tier: MatchTier, slot: UInt32)? {
        guard let subject = query.subject else { return nil }
        let found = work.answers(of: index, about: subject) { index.first($0, nodeOrder) }
        guard let node = found else { return nil }
        return best(of: node, query, subject, &work)
    }

    /// The best session of the best node that holds.
    @inline(__always)
    private func best(
        of node: PredicateIndex.Node, _ query: RegistryQuery, _ subject: String, _ work: inout DecisionWork
    ) -> (tier: MatchTier, slot: UInt32)? {
        let group = groups(of: node)
        if group.prefers == NodeGroups.nobody { return (.can, order.best(of: group)) }
        let best = order.best(of: group)
        if !query.prefersRequiresCan || index.holds(records.base[Int(best)].can, for: subject) {
            return (.prefers, best)
        }
        return firstVisited(query, &work)
    }

    /// The steps of looking a subject's keys up: one for each start, each end and some windows.
    @inline(__always)
    private static func steps(of subject: String) -> Int { 8 &* subject.utf8.count }

    /// The same when the best session that prefers cannot: the first session of each tier, one tier after another.
    private func firstVisited(
        _ query: RegistryQuery, _ work: inout DecisionWork
    ) -> (tier: MatchTier, slot: UInt32)? {
        var best: (tier: MatchTier, slot: UInt32)?
        for tier in MatchTier.allCases where best == nil {
            visit(tier, query, &work) {
                best = (tier, $0)
                return false
            }
            if work.isUnfinished { return nil }
        }
        return best
    }

    /// The same among the sessions of a device: only sessions that would rank better are evaluated.
    private func bestOfDevice(
        _ query: RegistryQuery, _ work: inout DecisionWork
    ) -> (tier: MatchTier, slot: UInt32)? {
        guard let device = query.device else { return nil }
        return withAnswers(query, &work) { answers in
            let (slots, order) = (devices[device], order)
            for tier in MatchTier.allCases {
                var best: UInt32?
                for slot in slots
                where best.map({ order.isBefore(slot, $0, in: tier) }) ?? true && stands(slot, in: tier, query, answers)
                {
                    best = slot
                }
                if answers?.haveGivenUp == true { return nil }
                if let best { return (tier, best) }
            }
            return nil
        }
    }

    /// Evaluates `body` with the index's answers about the subject, or with nil if the query has none.
    private func withAnswers<Result>(
        _ query: RegistryQuery, _ work: inout DecisionWork, _ body: (NodeAnswers?) -> Result
    ) -> Result {
        guard let subject = query.subject else { return body(nil) }
        return work.answers(of: index, about: subject) { body($0) }
    }

    /// Whether a session is a candidate of the tier. Without a subject every session can.
    func stands(
        _ slot: UInt32, in tier: MatchTier, _ query: RegistryQuery, _ answers: NodeAnswers?
    ) -> Bool {
        guard let answers else { return tier == .can }
        let record = records.base[Int(slot)]
        guard answers.holds(record.node(in: tier)) else { return false }
        return tier == .can || !query.prefersRequiresCan || answers.holds(record.can)
    }

    /// Shows the sessions of a tier, best first, until `show` returns false, or until the work is unfinished.
    func visit(_ tier: MatchTier, _ query: RegistryQuery, _ work: inout DecisionWork, _ show: (UInt32) -> Bool) {
        if let device = query.device {
            withAnswers(query, &work) { visit(tier, query, among: devices[device], $0, show) }
        } else if let subject = query.subject {
            work.answers(of: index, about: subject) { visit(tier, $0, query.prefersRequiresCan, show) }
        } else if tier == .can, let round = all.rounds.indices.last {
            var frontier = SessionFrontier(tier: .can, order: order)
            frontier.open(.place(0, round: round), all.best)
            _ = letOut(of: &frontier, show)
        }
    }

    /// Visits the sessions of one device: each is evaluated.
    private func visit(
        _ tier: MatchTier, _ query: RegistryQuery, among slots: [UInt32], _ answers: NodeAnswers?,
        _ show: (UInt32) -> Bool
    ) {
        let order = order
        let candidates = slots.filter { stands($0, in: tier, query, answers) }
        if answers?.haveGivenUp == true { return }
        for slot in candidates.sorted(by: { order.isBefore($0, $1, in: tier) }) {
            guard show(slot) else { return }
        }
    }

    /// Visits sessions by their predicates. A predicate that holds opens the best session of its group in the frontier;
    /// a session is shown when no later predicate ranks as high.
    ///
    /// A node's rank counts both tiers, so in tier `can` the nodes with sessions that prefer come first, out of order.
    /// Such sessions were visited in tier `prefers` before, or there are none.
    private func visit(
        _ tier: MatchTier, _ answers: NodeAnswers, _ requiresCan: Bool, _ show: (UInt32) -> Bool
    ) {
        var frontier = SessionFrontier(tier: tier, order: order)
        var isWanted = true
        func showIfWanted(_ slot: UInt32) -> Bool {
            if requiresCan, tier == .prefers, !answers.holds(records.base[Int(slot)].can) {
                return !answers.haveGivenUp
            }
            isWanted = show(slot)
            return isWanted
        }
        index.visit(answers, nodeOrder) { rank in
            letOut(of: &frontier, above: rank, showIfWanted)
        } _: { node in
            open(groups(of: node)[tier], &frontier)
            return true
        }
        if isWanted, !answers.haveGivenUp { _ = letOut(of: &frontier, showIfWanted) }
    }

    /// Opens the best session of a group in the frontier.
    func open(_ group: UInt32, _ frontier: inout SessionFrontier) {
        if group & NodeGroups.listBit == 0 {
            frontier.open(.nothing, group)
        } else if group != NodeGroups.nobody {
            let list = group & ~NodeGroups.listBit
            frontier.open(.list(list, position: 0), groupLists.items(of: list)[0])
        }
    }

    /// Shows the sessions of the frontier that rank above `rank`; returns whether more are wanted.
    func letOut(
        of frontier: inout SessionFrontier, above rank: UInt64 = 0, _ show: (UInt32) -> Bool
    ) -> Bool {
        while let next = frontier.pop(above: rank) {
            switch next.below {
            case .nothing: break
            case .list(let list, let position):
                let items = groupLists.items(of: list)
                for child in RankedHeaps.children(of: position, count: groupLists.count(list)) {
                    frontier.open(.list(list, position: child), items[child])
                }
            case .place(let place, let round):
                for player in all.players(of: place, in: round, slots: records.count) {
                    if round == 0 {
                        let isTaken = records.base[player].rank != 0
                        frontier.open(.nothing, isTaken ? UInt32(player) : nil)
                    } else {
                        let winner = all.winner(of: player, in: round - 1)
                        frontier.open(.place(player, round: round - 1), winner == NodeGroups.nobody ? nil : winner)
                    }
                }
                // The winner is opened again, as one of the players of its place.
                continue
            }
            guard show(next.slot) else { return false }
        }
        return true
    }
}
