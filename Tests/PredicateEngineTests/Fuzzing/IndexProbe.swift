@testable import PredicateEngine

/// Runs an input as a history of an index, and compares the index with its predicates all the way.
///
///     ⟨how many bits of a tag count⟩ { ⟨step⟩ ⟨what the step reads⟩ }
struct IndexProbe: ~Copyable {
    private var reader: ByteReader
    private var model: IndexModel
    /// The last subjects, asked again after changes.
    private var subjects = ["", "a/1"]
    /// The number of questions to predicates that are left. The bound keeps every input fast.
    private var budget = 3000

    /// The fault that was found; nil if there is none.
    static func fault(in input: [UInt8]) -> String? {
        var probe = IndexProbe(input)
        while !probe.reader.isAtEnd, probe.budget > 0 {
            if let fault = probe.step() { return fault }
        }
        for subject in probe.subjects { if let fault = probe.fault(for: subject) { return fault } }
        return nil
    }

    private init(_ input: [UInt8]) {
        reader = ByteReader(input)
        let mask = reader.pick([.max, .max, 0xF000_0000, 63, 7, 1, 0] as [UInt32])
        model = IndexModel(hash: KeyHash(seed: 1, mask: mask))
    }

    private mutating func step() -> String? {
        switch reader.byte() & 7 {
        case 0:
            let text = reader.text()
            budget -= text.utf8.count / 8
            add(try? Predicate(format: text))
        case 1: add(try? Predicate(root: reader.tree(), span: SourceSpan(offset: 0, length: 0)))
        case 2: addFamily()
        case 3:
            let (node, rank) = (node(), reader.byte())
            node.map { self.rank($0, by: rank) }
        case 4: for _ in 0..<1 + reader.byte() / 16 { node().map { model.remove($0) } }
        case 5: return ask(reader.text())
        case 6: return ask(near())
        default: model.copy()
        }
        // One of the last subjects after each change, each in its turn.
        subjects.append(subjects.removeFirst())
        return fault(for: subjects[0])
    }

    private mutating func add(_ predicate: Predicate?) {
        let rank = reader.byte()
        guard let predicate, let node = model.add(predicate) else { return }
        self.rank(node, by: rank)
    }

    /// Many predicates that share a beginning, so that it becomes common.
    private mutating func addFamily() {
        let operation = reader.pick(["ENDSWITH", "CONTAINS", "==", "!=", "LIKE", "ENDSWITH[c]"])
        let (other, count, first) = (reader.byte(), reader.byte() % 80, reader.byte())
        budget -= 8 * count
        let start = other & 1 == 0 ? "SELF BEGINSWITH 'a/' AND " : other & 2 == 0 ? "" : "SELF CONTAINS[cd] 'E' OR "
        for number in first..<first + count {
            guard let predicate = try? Predicate(format: "\(start)SELF \(operation) 'a/\(number)'") else { continue }
            if let node = model.add(predicate) { model.rank(node, UInt64(number % (1 + other / 4))) }
        }
    }

    private mutating func rank(_ node: UInt32, by byte: Int) {
        let rank = byte < 0xF0 ? UInt64(byte & 7) : UInt64.max - UInt64(byte & 1) << 63
        model.rank(node, rank, place: UInt32(byte >> 3 & 3))
    }

    private mutating func node() -> UInt32? {
        let choice = reader.byte() &* 257 &+ reader.byte()
        let nodes = model.nodes
        return nodes.isEmpty ? nil : nodes[choice % nodes.count]
    }

    /// A subject made around a literal of a present predicate.
    private mutating func near() -> String {
        let literals = node().flatMap { model.predicate(of: $0) }.map { RandomPredicates.literals(of: $0.root) } ?? []
        let core = literals.isEmpty ? "" : reader.pick(literals)
        let shape = reader.byte()
        return (shape & 1 == 0 ? "" : reader.literal()) + core + (shape & 2 == 0 ? "" : reader.literal())
    }

    private mutating func ask(_ text: String) -> String? {
        subjects = [text] + subjects.prefix(3)
        return fault(for: text)
    }

    private mutating func fault(for text: String) -> String? {
        budget -= (1 + model.nodes.count) * (1 + text.utf8.count / 16)
        return model.fault(for: text)
    }
}
