import PredicateEngine

/// The best of all sessions, whatever their predicates, for contents without a name.
///
///     slots     0 … 15   16 … 31   …           sixteen slots play for a place in the first round,
///     round 1     7        18       …          sixteen winners for one in the second, and so on:
///     round 2     18 …                         a quarter of a byte for each session
///
/// A session whose rank rises moves up; when a winner's rank falls, its sixteen slots are compared again.
struct Tournament: ~Copyable {
    static let width = 16

    /// All rounds, one after another.
    private var winners = Slab<UInt32>()
    /// The first place of each round; the last round has a single place.
    private(set) var rounds: [Int] = []
    private var capacity = 0

    init() {}

    var byteCount: Int { winners.byteCount }

    /// The best session; nil if there is none.
    var best: UInt32? {
        guard let last = rounds.last, winners.base[last] != NodeGroups.nobody else { return nil }
        return winners.base[last]
    }

    /// The sixteen or fewer players for a place of a round: slots in round 0, places of the round before otherwise.
    func players(of place: Int, in round: Int, slots: Int) -> Range<Int> {
        let first = place * Self.width
        return first..<(round == 0 ? max(first, min(first + Self.width, slots)) : first + Self.width)
    }

    /// The session at a place of a round.
    func winner(of place: Int, in round: Int) -> UInt32 { winners.base[rounds[round] + place] }

    /// Plays again for a slot whose rank has changed, or that has become free or taken.
    mutating func update(_ slot: UInt32, slots: Int, _ order: SessionOrder) {
        if slots > capacity { grow(slots, order) }
        var place = Int(slot)
        for round in 0..<rounds.count {
            place /= Self.width
            let previous = winners.base[rounds[round] + place]
            let isPlaying = order.records[Int(slot)].rank != 0
            if previous == slot || previous == NodeGroups.nobody {
                winners.base[rounds[round] + place] = play(place, round, slots, order)
            } else if isPlaying, order.isBefore(slot, previous, in: .can) {
                winners.base[rounds[round] + place] = slot
            } else {
                return
            }
        }
    }

    private func play(_ place: Int, _ round: Int, _ slots: Int, _ order: SessionOrder) -> UInt32 {
        var best = NodeGroups.nobody
        for player in players(of: place, in: round, slots: slots) {
            let slot = round == 0 ? UInt32(player) : winners.base[rounds[round - 1] + player]
            guard slot != NodeGroups.nobody, order.records[Int(slot)].rank != 0 else { continue }
            if best == NodeGroups.nobody || order.isBefore(slot, best, in: .can) { best = slot }
        }
        return best
    }

    /// Lays out rounds for sixteen times as many slots, and plays them all.
    private mutating func grow(_ slots: Int, _ order: SessionOrder) {
        while capacity < slots { capacity = max(capacity, 1) * Self.width }
        rounds = []
        var (places, total) = (capacity / Self.width, 0)
        while places > 0 {
            rounds.append(total)
            total += places
            places /= Self.width
        }
        winners = Slab(capacity: total)
        _ = winners.extend(by: total)
        winners.base.initialize(repeating: NodeGroups.nobody, count: total)
        for round in 0..<rounds.count {
            let end = round + 1 < rounds.count ? rounds[round + 1] : total
            for place in 0..<end - rounds[round] where place * Self.width < slots || round > 0 {
                winners.base[rounds[round] + place] = play(place, round, slots, order)
            }
        }
    }

    private init(winners: consuming Slab<UInt32>, rounds: [Int], capacity: Int) {
        self.winners = winners
        self.rounds = rounds
        self.capacity = capacity
    }

    func copy() -> Tournament { Tournament(winners: winners.copy(), rounds: rounds, capacity: capacity) }
}
