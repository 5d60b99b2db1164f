import Testing

@testable import PredicateEngine

/// Many lists in one memory: each keeps its items, with the best on top, and memory that one list has outgrown serves
/// another.
@Suite("Ranked heaps") struct RankedHeapsTests {
    /// Lists of which each item is in one; the smaller its rank the better it is.
    private struct Model: ~Copyable {
        var lists = RankedHeaps()
        var ranks: [UInt32]
        /// The position of each item, as the lists reported it.
        var positions: [UInt32: UInt32] = [:]

        init(items: Int) { ranks = (0..<UInt32(items)).map { $0 } }

        mutating func insert(_ item: UInt32, into list: UInt32) {
            let ranks = ranks
            lists.insert(item, into: list, { ranks[Int($0)] < ranks[Int($1)] }) { positions[$0] = $1 }
        }

        mutating func remove(_ item: UInt32, from list: UInt32) {
            let (ranks, position) = (ranks, positions.removeValue(forKey: item) ?? .max)
            lists.remove(at: position, from: list, { ranks[Int($0)] < ranks[Int($1)] }) { positions[$0] = $1 }
        }

        mutating func settle(_ item: UInt32, in list: UInt32) {
            let (ranks, position) = (ranks, positions[item] ?? .max)
            lists.settle(at: position, in: list, { ranks[Int($0)] < ranks[Int($1)] }) { positions[$0] = $1 }
        }

        /// Whether a list has these items, the best of them first, each at its reported position.
        func holds(_ items: Set<UInt32>, in list: UInt32) -> Bool {
            let found = Array(UnsafeBufferPointer(start: lists.items(of: list), count: lists.count(list)))
            guard Set(found) == items, found.count == items.count else { return false }
            guard found.first == items.min(by: { ranks[Int($0)] < ranks[Int($1)] }) else { return false }
            return found.enumerated().allSatisfy { positions[$0.element] == UInt32($0.offset) }
        }
    }

    @Test("After any insertions, removals and changes of rank, the best is on top", arguments: 0..<8 as Range<UInt64>)
    func history(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var model = Model(items: 400)
        var expected: [UInt32: Set<UInt32>] = [:]
        var home: [UInt32: UInt32] = [:]
        for _ in 0..<6 { expected[model.lists.make()] = [] }
        for step in 0..<4000 {
            let item = UInt32.random(in: 0..<400, using: &random)
            if let list = home[item] {
                if Bool.random(using: &random) {
                    model.ranks[Int(item)] = .random(in: 0..<100_000, using: &random) * 400 + item
                    model.settle(item, in: list)
                } else {
                    model.remove(item, from: list)
                    expected[list]?.remove(item)
                    home[item] = nil
                }
            } else if let list = expected.keys.sorted().randomElement(using: &random) {
                model.insert(item, into: list)
                expected[list]?.insert(item)
                home[item] = list
            }
            if step % 500 == 499, let list = expected.keys.sorted().first {
                for item in expected[list] ?? [] {
                    model.remove(item, from: list)
                    home[item] = nil
                }
                model.lists.destroy(list)
                expected[list] = nil
                expected[model.lists.make()] = []
            }
            if step % 50 == 0 {
                for (list, items) in expected {
                    let holds = model.holds(items, in: list)
                    #expect(holds)
                }
            }
        }
    }

    @Test("The last list in memory grows in place")
    func growsInPlace() {
        var model = Model(items: 1 << 14)
        let list = model.lists.make()
        for item in 0..<UInt32(1 << 14) { model.insert(item, into: list) }
        let (bytes, holds) = (model.lists.byteCount, model.holds(Set(0..<1 << 14), in: list))
        #expect(bytes < 4 << 14 + 256)
        #expect(holds)
    }

    @Test("Memory that lists have outgrown serves smaller ones")
    func servesOthers() {
        var model = Model(items: 1 << 14)
        let large = [model.lists.make(), model.lists.make()]
        // In turns, so that each stands in the other's way.
        for item in 0..<UInt32(1 << 13) { model.insert(item, into: large[Int(item & 1)]) }
        let bytes = model.lists.byteCount
        for number in 0..<UInt32(60) {
            let list = model.lists.make()
            for place in 0..<UInt32(64) { model.insert(1 << 13 + 64 * number + place, into: list) }
        }
        let grown = model.lists.byteCount - bytes
        #expect(grown < 4 * 60 * 64 / 4, "sixty lists of sixty-four take what the large ones left behind")
        for (number, list) in large.enumerated() {
            let holds = model.holds(Set((0..<1 << 13).filter { $0 & 1 == UInt32(number) }), in: list)
            #expect(holds)
        }
    }
}
