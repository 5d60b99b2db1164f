import Testing

@testable import PredicateEngine

/// The bound of the work of one evaluation, counted in steps: 64 × passes × (size of the payload + length of the text).
@Suite struct PayloadWorkTests {
    /// The steps of an evaluation, and the most that the law allows.
    private static func work(_ predicate: PayloadPredicate, _ payload: PayloadValue) -> (taken: Int, allowed: Int) {
        var evaluation = PayloadEvaluation(payload: payload)
        _ = evaluation.holds(predicate.root)
        let size = payload.size + predicate.description.utf8.count
        return (evaluation.work, 64 * Predicate.Tree.passes(of: predicate.root) * size + 1)
    }

    @Test func randomPredicatesKeepTheLaw() throws {
        for seed in UInt64(1)...500 {
            var source = RandomPredicates(seed: seed, hasPaths: true)
            let tree = Predicate.Tree.comparison(source.comparison())
            let predicate = try PayloadPredicate(root: tree, span: SourceSpan(offset: 0, length: 0))
            for _ in 0..<6 {
                let payload = source.payload(near: tree)
                let (taken, allowed) = Self.work(predicate, payload)
                #expect(taken <= allowed, "seed \(seed): \(predicate) over \(payload)")
            }
        }
    }

    private static func object(_ members: (String, PayloadValue)...) -> PayloadValue { .object(PayloadObject(members)) }

    private static func text(_ unit: String, _ count: Int, _ end: String = "") -> PayloadValue {
        .string(String(repeating: unit, count: count) + end)
    }

    /// Payloads made to be dear: `n` is about their size in bytes.
    private static let hostile: [(format: String, payload: @Sendable (_ n: Int) -> PayloadValue)] = [
        // Every element of the one array against every element of the other.
        (
            "ANY x IN y",
            { n in
                object(
                    ("x", .array((0..<n / 16).map { .integer(Int64($0)) })),
                    ("y", .array((0..<n / 16).map { .integer(Int64(-1 - $0)) })))
            }
        ),
        (
            "ANY x IN y",
            { n in object(("x", .array(Array(repeating: text("a", 20, "b"), count: n / 24))), ("y", text("a", 250))) }
        ),
        (
            "ANY x IN y",
            { n in object(("x", .array(Array(repeating: text("a", 2), count: n / 4))), ("y", text("a", n))) }
        ),
        (
            "ANY x == y",
            { n in object(("x", .array(Array(repeating: text("a", 30), count: n / 32))), ("y", text("a", 30, "b"))) }
        ),
        (
            "ANY x ==[c] y",
            { n in object(("x", .array(Array(repeating: text("a", 4), count: n / 16))), ("y", text("A", n / 2))) }
        ),
        (
            "ALL x == y",
            { n in
                let row = PayloadValue.array(Array(repeating: .integer(1), count: 100))
                return object(("x", .array(Array(repeating: row, count: n / 200))), ("y", row))
            }
        ),
        // Arrays within arrays, and paths that find nothing in many elements.
        (
            "ANY a.b.c == d.e",
            { n in
                let inner = object(("b", .array(Array(repeating: object(("c", .integer(1))), count: 50))))
                let other = object(("e", .integer(2)))
                return object(
                    ("a", .array(Array(repeating: inner, count: n / 500))),
                    ("d", .array(Array(repeating: other, count: n / 20))))
            }
        ),
        (
            Array(repeating: "a", count: 64).joined(separator: ".") + " == 1",
            { n in object(("a", .array(Array(repeating: .null, count: n / 5)))) }
        ),
        // Searching.
        ("x CONTAINS y", { n in object(("x", text("a", n / 2)), ("y", text("a", n / 4, "b"))) }),
        ("x CONTAINS y", { n in object(("x", text("ab", n / 4)), ("y", text("ab", n / 16, "aa"))) }),
        ("y IN[c] x", { n in object(("x", text("é", n / 4)), ("y", text("É", n / 8, "b"))) }),
        (
            "ANY x CONTAINS y",
            { n in object(("x", .array(Array(repeating: text("a", 200), count: n / 400))), ("y", text("a", 100, "b"))) }
        ),
        ("x LIKE '*aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab'", { n in object(("x", text("a", n))) }),
        ("x LIKE '*a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?a?ab*'", { n in object(("x", text("a", n))) }),
        (
            "x LIKE[c] y",
            { n in object(("x", text("ΐ", n / 4)), ("y", .string("*" + String(repeating: "ΐ", count: 500) + "?b"))) }
        ),
        (
            "ANY x LIKE y",
            { n in
                object(
                    ("x", .array(Array(repeating: text("a", 60), count: n / 64))),
                    ("y", .string("*" + String(repeating: "a?", count: 500) + "b")))
            }
        ),
        (
            "ANY x LIKE y",
            { n in
                object(
                    ("x", .array(Array(repeating: text("a", 1), count: n / 4))),
                    ("y", .string("*" + String(repeating: "a?", count: 500) + "b")))
            }
        ),
        // Folding, order, bounds, aggregates.
        ("x <[cd] y", { n in object(("x", text("ΐ", n / 8)), ("y", text("ΐ", n / 8))) }),
        (
            "ALL x BETWEEN y",
            { n in
                object(
                    ("x", .array(Array(repeating: text("m", 8), count: n / 16))),
                    ("y", .array([text("a", n / 4), text("z", n / 4)])))
            }
        ),
        ("{x, x, x} == {y, y, y}", { n in object(("x", text("a", n / 2)), ("y", text("a", n / 2))) }),
        ("ANY {'a', 'b', 'c', 'd'} IN x", { n in object(("x", text("e", n))) }),
        // An object of many members.
        (
            "x == y AND ANY x.m == 1",
            { n in
                let many = PayloadValue.object(PayloadObject((0..<n / 20).map { ("m\($0)", .integer(Int64($0))) }))
                return object(("x", many), ("y", many))
            }
        ),
    ]

    @Test(arguments: hostile.indices)
    func hostilePayloadsKeepTheLaw(place: Int) throws {
        let (format, payload) = Self.hostile[place]
        let predicate = try PayloadPredicate(format: format)
        let sizes = [16, 32, 64, 128, 256].map { $0 * 1024 }
        let works = sizes.map { Self.work(predicate, payload($0)) }
        for (work, size) in zip(works, sizes) {
            #expect(work.taken <= work.allowed, "\(format), \(size) bytes: \(work)")
            // The payload is visited, not skipped.
            #expect(work.taken >= size / 32, "\(format), \(size) bytes: \(work)")
        }
        // Twice the payload takes twice the work.
        for (smaller, greater) in zip(works, works.dropFirst()) {
            #expect(greater.taken <= 5 * smaller.taken / 2 + 100_000, "\(format): \(works)")
        }
    }
}
