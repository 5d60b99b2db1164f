import Testing

@testable import PredicateEngine

/// The memory of nodes: a node stays where it is, whatever comes and goes beside it.
@Suite("Memory of nodes") struct NodeStoreTests {
    /// A code with a literal of this number of bytes, or of its digits.
    private static func code(_ bytes: Int, _ number: Int) throws -> [UInt8] {
        let digits = String(number)
        let literal = digits + String(repeating: "x", count: max(bytes - digits.count, 0))
        return Canonicalizer.code(of: try Predicate(format: "SELF == '\(literal)'"))
    }

    /// Bytes that no piece has room for. No predicate is that long; the store would take one.
    private static func longCode(_ number: Int) -> [UInt8] {
        [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 8 * NodePiece.words + number)
    }

    private static func holds(_ code: [UInt8], _ node: UInt32, _ store: borrowing NodeStore) -> Bool {
        code.elementsEqual(UnsafeBufferPointer(start: store.places.code(node), count: code.count))
    }

    @Test("Codes of all lengths keep their bytes and their records over several pieces")
    func manyPieces() throws {
        var store = NodeStore()
        var nodes: [(node: UInt32, code: [UInt8])] = []
        for number in 0..<6000 {
            let code = number % 1000 == 999 ? Self.longCode(number) : try Self.code(number % 300, number)
            let node = store.insert(code)
            store.places.record(node).pointee.rank = UInt64(number)
            nodes.append((node, code))
        }
        #expect(nodes.last.map { Int($0.node) / NodePiece.words } ?? 0 > 3)
        #expect(Set(nodes.map(\.node)).count == nodes.count)
        for (number, entry) in nodes.enumerated() {
            #expect(store.places[entry.node].rank == UInt64(number) && Self.holds(entry.code, entry.node, store))
        }
        #expect(store.count == nodes.count)
    }

    @Test("The place of a node that was removed goes to one of the same size")
    func reuse() throws {
        var store = NodeStore()
        let nodes = try (0..<2000).map { store.insert(try Self.code(40, $0)) }
        let bytes = store.byteCount
        for node in nodes { store.remove(node) }
        let again = try (0..<2000).map { store.insert(try Self.code(40, 10_000 + $0)) }
        #expect(store.byteCount == bytes)
        #expect(Set(again) == Set(nodes))
        #expect(try Self.holds(Self.code(40, 10_007), again[7], store))
    }

    @Test("A copy is at another place, and goes its own way")
    func copies() throws {
        var store = NodeStore()
        let nodes = try (0..<3000).map { store.insert(try Self.code(200, $0)) }
        var copy = store.copy()
        for node in nodes { store.remove(node) }
        for number in 0..<3000 { _ = store.insert(try Self.code(200, 10_000 + number)) }
        let fresh = copy.insert(try Self.code(200, 77_777))
        #expect(!nodes.contains(fresh))
        for (number, node) in nodes.enumerated() { #expect(try Self.holds(Self.code(200, number), node, copy)) }
        #expect(try Self.holds(Self.code(200, 77_777), fresh, copy))
    }

    @Test("A few nodes take little memory")
    func few() throws {
        var store = NodeStore()
        #expect(store.byteCount <= 64)
        for number in 0..<8 { _ = store.insert(try Self.code(10, number)) }
        #expect(store.byteCount < 2048)
    }

    // MARK: - Memory that is found again

    /// A code of this number of bytes, more than three, that no other number has.
    private static func equal(_ bytes: Int, _ number: Int) -> [UInt8] {
        let length = bytes - 3
        var code = [CanonicalCode.head(.equal), UInt8(length & 255), UInt8(length >> 8)]
        for place in 0..<length { code.append(UInt8(truncatingIfNeeded: number &* 31 &+ place &* 7 &+ number >> 8)) }
        return code
    }

    /// A store beside the codes that are in it.
    private struct Model: ~Copyable {
        var store = NodeStore()
        private(set) var nodes: [(node: UInt32, code: [UInt8], number: Int)] = []
        private var made = 0
        private var liveBytes = 0
        private(set) var peakBytes = 0

        private static func bytes(_ code: [UInt8]) -> Int { 24 + (code.count + 7) / 8 * 8 }

        mutating func insert(_ size: Int) {
            let code = NodeStoreTests.equal(size, made)
            let node = store.insert(code)
            let record = store.places.record(node)
            record.pointee.rank = UInt64(made)
            (record.pointee.list, record.pointee.position) = (UInt32(made), .max - UInt32(made))
            record.pointee.note = NodeNote(first: UInt32(made), second: 7)
            nodes.append((node, code, made))
            made += 1
            liveBytes += Self.bytes(code)
            peakBytes = max(peakBytes, liveBytes)
        }

        mutating func remove(at place: Int) {
            let entry = nodes[place]
            nodes.swapAt(place, nodes.count - 1)
            nodes.removeLast()
            store.remove(entry.node)
            liveBytes -= Self.bytes(entry.code)
        }

        /// Puts a node with another code in the place of one.
        mutating func replace(at place: Int, _ size: Int) {
            remove(at: place)
            insert(size)
            nodes.swapAt(place, nodes.count - 1)
        }

        /// Whether every node has its record and its code.
        var isIntact: Bool {
            store.count == nodes.count
                && nodes.allSatisfy { node, code, number in
                    let record = store.places[node]
                    return record.rank == UInt64(number) && record.list == UInt32(number)
                        && record.position == .max - UInt32(number) && record.note.first == UInt32(number)
                        && record.note.second == 7 && NodeStoreTests.holds(code, node, store)
                }
        }
    }

    /// Each round replaces every node by one that is longer, or shorter, than it was.
    @Test("Nodes that grow and shrink take their greatest memory and some more", arguments: [false, true])
    func sizesThatDrift(shrinks: Bool) {
        var model = Model()
        let sizes = Array(stride(from: 600, to: 15_000, by: 240))
        var largest = 0
        for size in shrinks ? sizes.reversed() : sizes {
            for number in 0..<150 {
                if number < model.nodes.count { model.replace(at: number, size) } else { model.insert(size) }
                largest = max(largest, model.store.byteCount)
            }
            let isIntact = model.isIntact
            #expect(isIntact, "at \(size) bytes")
        }
        let peak = model.peakBytes
        #expect(largest < peak + peak / 4 + 3 * 8 * NodePiece.words)
    }

    @Test(
        "Nodes of any sizes come and go: all keep their bytes, in bounded memory", arguments: 0..<4 as Range<UInt64>)
    func randomSizes(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var model = Model()
        var largest = 0
        for step in 0..<30_000 {
            // Waves of up to 3,000 nodes, each of other sizes.
            let (wave, isFalling) = (step / 6000, step % 6000 >= 3000)
            let isInsert = Int.random(in: 0..<10, using: &random) < (isFalling ? 2 : 8)
            if isInsert || model.nodes.isEmpty {
                let isLong = Int.random(in: 0..<100, using: &random) == 0
                model.insert(.random(in: isLong ? 4000...60_000 : 4...40 << wave, using: &random))
            } else {
                model.remove(at: .random(in: 0..<model.nodes.count, using: &random))
            }
            largest = max(largest, model.store.byteCount)
            if step % 2000 == 1999 {
                let isIntact = model.isIntact
                #expect(isIntact, "after \(step) steps")
            }
        }
        let peak = model.peakBytes
        #expect(largest < peak + peak / 2 + 3 * 8 * NodePiece.words)
        while !model.nodes.isEmpty { model.remove(at: .random(in: 0..<model.nodes.count, using: &random)) }
        let bytes = model.store.byteCount
        #expect(bytes <= 64, "no node is kept without a session")
    }

    @Test("A piece without nodes is given back, and its number is used again")
    func piecesGivenBack() {
        var model = Model()
        for _ in 0..<8000 { model.insert(200) }
        let (full, pieces) = (model.store.byteCount, Set(model.nodes.map { $0.node >> NodePiece.bits }))
        #expect(pieces.count > 6)
        // The last hundred stay, which are in the open piece.
        for place in (0..<7900).reversed() { model.remove(at: place) }
        let small = model.store.byteCount
        #expect(small < full / 4)
        for _ in 0..<7900 { model.insert(200) }
        let (again, isIntact) = (model.store.byteCount, model.isIntact)
        #expect(again <= full + 2048)
        #expect(Set(model.nodes.map { $0.node >> NodePiece.bits }) == pieces)
        #expect(isIntact)
    }

    @Test("A code longer than a piece gives its memory back with the node")
    func longCodesGivenBack() {
        var store = NodeStore()
        let small = store.insert(Self.equal(100, 1))
        let bytes = store.byteCount
        let long = store.insert(Self.longCode(5))
        #expect(store.byteCount > 8 * NodePiece.words)
        let other = store.insert(Self.equal(100, 2))
        #expect(small >> NodePiece.bits == other >> NodePiece.bits, "the piece that is open stays open")
        store.remove(long)
        #expect(store.byteCount < bytes + 2048)
        let again = store.insert(Self.longCode(9))
        #expect(again == long)
        #expect(Self.holds(Self.equal(100, 1), small, store) && Self.holds(Self.equal(100, 2), other, store))
    }

    @Test("Free neighbours are room for a longer node")
    func neighboursJoin() {
        var model = Model()
        for _ in 0..<9000 { model.insert(40) }
        let bytes = model.store.byteCount
        // Of two stretches every tenth stays.
        for place in (0..<9000).reversed() where place / 3000 % 2 == 0 && place % 10 != 0 { model.remove(at: place) }
        for _ in 0..<500 { model.insert(500) }
        let (grown, isIntact) = (model.store.byteCount, model.isIntact)
        #expect(grown <= bytes + 2048)
        #expect(isIntact)
    }

    @Test("Blocks of a size go to nodes of that size, and the rest of a piece to those that fit")
    func exactSizes() {
        var model = Model()
        for number in 0..<9000 { model.insert(20 + number % 40 * 8) }
        let nodes = Set(model.nodes.map(\.node))
        // One in sixteen, so that no neighbours are joined.
        var sizes: [Int] = []
        for place in stride(from: 8990, to: 0, by: -16) {
            sizes.append(model.nodes[place].code.count)
            model.remove(at: place)
        }
        let bytes = model.store.byteCount
        for size in sizes { model.insert(size) }
        let (again, isIntact) = (model.store.byteCount, model.isIntact)
        #expect(again == bytes && Set(model.nodes.map(\.node)) == nodes)
        #expect(isIntact)
    }

    @Test("The rest of a piece is for nodes that fit")
    func restOfPiece() {
        var store = NodeStore()
        let nodes = (0..<9).map { store.insert(Self.equal(60_000, $0)) }
        let pieces = nodes.map { $0 >> NodePiece.bits }
        #expect(pieces == [0, 0, 0, 0, 1, 1, 1, 1, 2])
        let small = store.insert(Self.equal(5000, 9))
        #expect(small >> NodePiece.bits == 1, "the first piece is only as long as it had to be")
        for (number, node) in nodes.enumerated() {
            let holds = Self.holds(Self.equal(60_000, number), node, store)
            #expect(holds)
        }
    }

    @Test("A copy goes its own way after nodes have left and neighbours were joined")
    func copiesAfterJoins() {
        var store = NodeStore()
        var nodes = (0..<4000).map { (node: store.insert(Self.equal(100, $0)), code: Self.equal(100, $0)) }
        for place in (0..<4000).reversed() where place % 4 != 0 || 1000..<3500 ~= place {
            store.remove(nodes.remove(at: place).node)
        }
        var copy = store.copy()
        let bytes = copy.byteCount
        #expect(bytes <= store.byteCount)
        var (here, there) = (nodes, nodes)
        for number in 0..<2000 {
            let (long, short) = (Self.equal(700, 10_000 + number), Self.equal(60, 20_000 + number))
            here.append((store.insert(long), long))
            there.append((copy.insert(short), short))
        }
        #expect(copy.byteCount <= bytes + 2048, "free memory is free in the copy too")
        // Nodes from before the copy: they leave in one order here, and in another there.
        for _ in nodes.indices.dropFirst(nodes.count / 2) {
            store.remove(here.removeFirst().node)
            copy.remove(there.remove(at: there.count / 8).node)
        }
        let areIntact = (
            here.allSatisfy { Self.holds($0.code, $0.node, store) },
            there.allSatisfy { Self.holds($0.code, $0.node, copy) }
        )
        #expect(areIntact == (true, true))
        #expect(store.count == here.count && copy.count == there.count)
    }
}
