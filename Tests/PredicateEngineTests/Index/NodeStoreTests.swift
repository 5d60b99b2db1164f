import Testing

@testable import PredicateEngine

/// The memory of nodes: a node stays where it is, whatever comes and goes beside it.
@Suite("Memory of nodes") struct NodeStoreTests {
    /// A code with a literal of so many bytes, or of its digits.
    private static func code(_ bytes: Int, _ number: Int) throws -> [UInt8] {
        let digits = String(number)
        let literal = digits + String(repeating: "x", count: max(bytes - digits.count, 0))
        return Canonicalizer.code(of: try Predicate(format: "SELF == '\(literal)'"))
    }

    /// Bytes that no piece has room for. No predicate is so long; the store would take one.
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

    @Test("A few nodes take little")
    func few() throws {
        var store = NodeStore()
        #expect(store.byteCount <= 64)
        for number in 0..<8 { _ = store.insert(try Self.code(10, number)) }
        #expect(store.byteCount < 2048)
    }
}
