import Testing

@testable import PredicateEngine

/// Sets of predicates made to be slow. The cost of a question is counted, never timed: predicates that are evaluated,
/// the bytes that this takes, and tags that are looked up.
@Suite("Hostile sets of predicates") struct HostileSetTests {
    /// An index in which the first format ranks first. Its seed is the same unless another is given: with one in some
    /// fifty thousand, two of the tags counted here are equal.
    private struct Ranked: ~Copyable {
        var index: PredicateIndex
        var nodes: [PredicateIndex.Node: Int] = [:]

        init(_ formats: [String], hash: KeyHash = KeyHash(seed: 0x0123_4567_89AB_CDEF)) throws {
            index = PredicateIndex(hash: hash)
            for (place, format) in formats.enumerated().reversed() {
                let node = index.node(for: try Predicate(format: format), .byNode)
                if node == PredicateIndex.none { continue }
                index.setRank(of: node, to: UInt64(formats.count - place), .byNode)
                nodes[node] = place
            }
        }

        /// The best of the formats, and the number of evaluations.
        func best(for subject: String) -> (place: Int?, asked: Int) {
            var effort = IndexEffort()
            let best = index.best(for: subject, .byNode, &effort)
            return (best.flatMap { nodes[$0] }, effort.asked)
        }

        /// The number of bytes of the subject that are compared or passed over.
        func compared(for subject: String) -> Int {
            var effort = IndexEffort()
            _ = index.best(for: subject, .byNode, &effort)
            return effort.compared
        }

        /// The number of tags that are looked up for an ASCII subject.
        func tags(of subject: String) -> Int {
            var count = 0
            Array(subject.utf8).withUnsafeBufferPointer { bytes in
                PreparedSubject.with(bytes, folds: true) { subject in
                    let tables = index.tables
                    KeyPresence.forEachTag(tables.pointee.keys.live, of: subject, tables.pointee.hash) { _ in count += 1
                    }
                }
            }
            return count
        }
    }

    @Test("Suffixes of one letter, all of which hold")
    func suffixes() throws {
        let count = 400
        let set = try Ranked((1...count).map { "SELF ENDSWITH '\(String(repeating: "a", count: $0))'" }.reversed())
        let subject = String(repeating: "a", count: 4096)
        let (place, asked) = set.best(for: subject)
        #expect(place == 0)
        // The best of each gathered batch may be evaluated.
        #expect(asked <= count / 64 + 1)
        #expect(set.tags(of: subject) == count)
        let near = set.best(for: subject + "b")
        #expect(near.place == nil && near.asked == 0)
    }

    @Test("A window at every offset, of a predicate that does not hold")
    func repeatedWindow() throws {
        let (start, end) = (String(repeating: "a", count: 300), String(repeating: "a", count: 600))
        let set = try Ranked(["SELF CONTAINS '\(start)b\(end)'"])
        for count in [16, 64, 65, 80, 4096] {
            let (place, asked) = set.best(for: String(repeating: "a", count: count))
            #expect(place == nil && asked <= 1, "\(count) letters")
        }
    }

    @Test("A list found at every offset, in which no predicate holds")
    func repeatedList() throws {
        let count = 100
        let set = try Ranked((0..<count).map { "SELF CONTAINS '-' AND SELF > 'z\(1000 + $0)'" })
        for dashes in [1, 4, 63, 64, 65, 4000] {
            let (place, asked) = set.best(for: "a" + String(repeating: "-", count: dashes))
            #expect(place == nil && asked == count, "\(dashes) dashes")
        }
    }

    /// Each is met under every one of its keys, and each of these questions would take the product of the number of
    /// texts and the subject's length.
    @Test("A node under many keys that others share is evaluated once", arguments: [2, 32, 33, 300])
    func manySharedKeys(count: Int) throws {
        let starts = (0..<120).map { Self.filler(4, from: 60 * $0) }
        let texts = starts.map { "'\($0)Z'" }.joined(separator: ",")
        let set = try Ranked((0..<count).map { "ANY {\(texts)} IN SELF OR SELF == 'own\($0)'" })
        let subject = starts.joined(separator: "-")
        #expect(set.best(for: subject) == (nil, count))
        #expect(set.best(for: "\(subject)\(starts[7])Z") == (0, 1))
    }

    /// More positions of the list wait than there is room for on the stack: branches are searched without it.
    @Test("A long list in which only low ranks hold")
    func depthsOfAList() throws {
        let count = 2000
        let set = try Ranked((0..<count).reversed().map { "SELF CONTAINS '-' AND SELF > 'z\(1000 + $0)'" })
        for holding in [1, 2, 100, 997, 1500, 1999] {
            let (place, asked) = set.best(for: "z\(1000 + holding - 1)-")
            #expect(place == count - holding)
            #expect(asked > count - holding && asked <= count, "asked \(asked)")
        }
    }

    /// Both keys are common when the patterns come, the beginning less so. They have to move when it has become the
    /// more common one: those that made it so have keys of their own.
    @Test("A node under a key that becomes more common than another moves there", arguments: [64, 512])
    func rechosen(sharers: Int) throws {
        let (patterns, ending) = (4, sharers / 4)
        var formats = (0..<ending).map { "SELF ENDSWITH '/ending' AND SELF > 'a\($0)'" }
        formats += (0..<patterns).map { "SELF BEGINSWITH 'app://' AND SELF ENDSWITH '/ending' AND SELF > 'b\($0)'" }
        formats += (patterns..<sharers).map { "SELF LIKE 'app://*-\(1000 + $0)'" }
        // The first in a set comes last to the index.
        let before = try Ranked(formats.dropLast().reversed())
        let after = try Ranked(formats.reversed())
        #expect(before.best(for: "app://else") == (nil, patterns))
        #expect(after.best(for: "app://else") == (nil, 0))
    }

    /// The first to come could not know that all others would begin like it. It chooses again when they are eight, but
    /// the counter of the key may be that of other keys too, and pass that number unseen.
    @Test("A node alone under a key that becomes common leaves it, however texts are hashed")
    func lonelyUnderCommonKey() throws {
        let others = (0..<400).map { "SELF == 'myapp://album/\($0)'" }
        let patterns = (0..<14).map { "SELF LIKE 'myapp://*-of-its-own-\(1000 + 37 * $0)-*'" }
        var formats = others
        for (place, pattern) in patterns.enumerated() { formats.insert(pattern, at: place * 30) }
        for seed in 0..<100 as Range<UInt64> {
            let set = try Ranked(formats, hash: KeyHash(seed: seed &* 0x9E37_79B9_7F4A_7C15))
            let (place, asked) = set.best(for: "myapp://something-else")
            #expect(place == nil)
            #expect(asked == 0, "with seed \(seed)")
        }
    }

    /// Sixty-four that share all keys but one: the last makes each of them common.
    @Test("Alternatives that all predicates share cost a newcomer a bounded effort")
    func sharedAlternatives() throws {
        let shared = (0..<100).map { "SELF CONTAINS 'the-alternative-number-\(1000 + $0)-of-all'" }
        var keys = KeyTable(hash: KeyHash(seed: 0x0123_4567_89AB_CDEF))
        var nodes = NodeStore()
        for number in 0..<70 {
            let format = (shared + ["SELF CONTAINS 'one-of-its-own-\(number)'"]).joined(separator: " OR ")
            let node = nodes.insert(Canonicalizer.code(of: try Predicate(format: format)))
            let rechosen = keys.file(node, nodes.places, nodeCount: nodes.count, .byNode)
            // The last node that chooses again may have all its keys before it.
            #expect(rechosen <= 4096 + 33 * 101)
        }
    }

    @Test("Windows of every size, at every offset of a long subject")
    func windows() throws {
        let sizes = (1...8).map { String(repeating: "a", count: $0) }
        let set = try Ranked(sizes.flatMap { ["SELF CONTAINS '\($0)'", "SELF CONTAINS[c] '\($0)'"] })
        let subject = String(repeating: "a", count: 4096)
        #expect(set.tags(of: subject) <= 2 * (8 * 4096 + 1))
        let (place, asked) = set.best(for: subject)
        // Each that is evaluated ranks higher than all that were evaluated before it.
        #expect(place == 0 && asked <= 16, "asked \(asked)")
    }

    @Test("A common beginning and an end of its own: the common one is no key")
    func nearMisses() throws {
        let set = try Ranked((0..<800).map { "SELF BEGINSWITH 'myapp://doc/' AND SELF ENDSWITH '/page/\($0)'" })
        for number in [0, 7, 400, 799] {
            let hit = set.best(for: "myapp://doc/\(number)/page/\(number)")
            #expect(hit.place == number)
            #expect(hit.asked <= 8, "asked \(hit.asked)")
            let miss = set.best(for: "myapp://doc/\(number)/page/\(number)x")
            #expect(miss.place == nil)
            #expect(miss.asked <= 8, "asked \(miss.asked)")
        }
    }

    /// Once, only sixteen windows from either end of a literal could be its key: 60 equal bytes around a number made
    /// every predicate share every key that it could have.
    @Test("The bytes that tell literals apart are found at any place in them", arguments: [20, 27, 60, 200, 450])
    func numberInTheMiddle(around: Int) throws {
        let count = around > 60 ? 600 : 3000
        let (start, end) = (Self.filler(around, from: 0), Self.filler(around, from: 11))
        let literals = (0..<count).map { "\(start)\(10_000 + 7 * $0)\(end)" }
        for format in ["SELF CONTAINS '%'", "SELF LIKE[c] '*%*'"] {
            let set = try Ranked(literals.map { format.split(separator: "%").joined(separator: $0) })
            for number in [0, 7, count / 2, count - 1] {
                let hit = set.best(for: "x\(literals[number])y")
                #expect(hit.place == number)
                #expect(hit.asked <= 8, "asked \(hit.asked)")
            }
            let miss = set.best(for: "x\(start)99999\(end)y")
            #expect(miss.place == nil)
            #expect(miss.asked <= 8, "asked \(miss.asked)")
        }
    }

    /// All have one rank, so that the order is asked at each step.
    @Test("Another rank costs the steps of one list for each key that others share", arguments: [1, 10, 100])
    func changeOfManyKeys(keys: Int) throws {
        let asked = UnsafeMutablePointer<Int>.allocate(capacity: 1)
        defer { asked.deallocate() }
        asked.initialize(to: 0)
        let order = NodeOrder(UnsafeRawPointer(asked)) { asked, pieces, left, right in
            UnsafeMutablePointer(mutating: asked.assumingMemoryBound(to: Int.self)).pointee += 1
            let nodes = NodePlaces(pieces: pieces)
            return (nodes[left].note.first, left) < (nodes[right].note.first, right)
        }
        var index = PredicateIndex(hash: KeyHash(seed: 0x0123_4567_89AB_CDEF))
        let shared = (0..<keys).map { "SELF == 'shared-by-all-\($0)'" }
        var nodes: [PredicateIndex.Node] = []
        for number in 0..<64 {
            let format = (shared + ["SELF == 'its-own-\(number)'"]).joined(separator: " OR ")
            nodes.append(index.node(for: try Predicate(format: format), order))
            index.places.record(nodes[number]).pointee.note.first = UInt32(number)
            index.setRank(of: nodes[number], to: 1, order)
        }
        // A list of sixty-four has four levels. On each, four are compared among one another and with the node that
        // passes.
        let most = keys * 4 * 4
        for (number, node) in nodes.enumerated() {
            index.places.record(node).pointee.note.first = UInt32((number * 37 + 11) % 64)
            asked.pointee = 0
            index.setRank(of: node, to: 1, order)
            #expect(keys...most ~= asked.pointee, "\(asked.pointee) steps")
        }
        for node in nodes {
            asked.pointee = 0
            index.remove(node, order)
            #expect(asked.pointee <= most, "\(asked.pointee) steps")
        }
    }

    /// Each of them shares all but one byte with the subject at nearly every offset. In one list they are all
    /// evaluated.
    @Test("Near misses at every offset cost the length of the subject, not its product with the literal's")
    func nearMissesEverywhere() throws {
        let (start, end) = (String(repeating: "a", count: 490), String(repeating: "a", count: 490))
        let formats = (0..<3000).map { "SELF CONTAINS '\(start)\(10_000 + $0)\(end)'" }
        let subject = String(repeating: "a", count: 4000)
        let apart = try Ranked(formats)
        #expect(apart.best(for: subject).asked <= 1 && apart.compared(for: subject) <= 16 * 4000 + 256)
        // Only the part after the stars tells these apart.
        let together = try Ranked((0..<100).map { "SELF CONTAINS '\(start)b\(end)' AND SELF > '\(1000 + $0)'" })
        for subject in [subject, subject + "b", "b" + subject, "\(subject)b\(end.dropLast())"] {
            let (place, asked) = together.best(for: subject)
            #expect(place == nil)
            #expect(together.compared(for: subject) <= asked * (16 * subject.utf8.count + 256 + 8))
        }
    }

    @Test("Stars with literals between them pass each byte of the subject once")
    func stars() throws {
        let part = String(repeating: "a", count: 60)
        let subject = String(repeating: "a", count: 4000)
        let patterns = [
            "*\(part)b*\(part)c*", "*\(part)*\(part)b\(part)*", "*\(part)b\(part)", "\(part)*\(part)*\(part)*b*a",
        ]
        for pattern in patterns {
            for subject in [subject, "\n" + subject, subject + "é", subject + "\u{2028}" + subject] {
                let set = try Ranked(["SELF LIKE '\(pattern)' OR SELF > 'z'"])
                #expect(set.best(for: subject).place == nil)
                let pieces = 5
                #expect(set.compared(for: subject) <= 16 * subject.utf8.count + 256 * pieces, "\(pattern)")
            }
        }
    }

    /// Every piece is in the subject, so that no key is missing, and the last one only before the others.
    @Test("Pieces in the wrong order cost their own length, not the subject's", arguments: ["", "[cd]"])
    func piecesInTheWrongOrder(options: String) throws {
        var random = SplitMix64(seed: 31)
        let bytes = (0..<4096).map { _ in UInt8(97 + random.below(8)) }
        let subject = String(decoding: bytes, as: UTF8.self)
        func piece(_ offset: Int) -> String { String(decoding: bytes[offset..<offset + 24], as: UTF8.self) }
        let perPredicate = 200
        let formats = (0..<60).map { number in
            (0..<perPredicate).map { term in
                let place = (number * perPredicate + term) % 1900
                // The pairs differ from predicate to predicate: equal ones would be one node.
                return "SELF LIKE\(options) '*\(piece(2100 + place))*\(piece((place + number) % 1900))*'"
            }.joined(separator: " OR ")
        }
        let set = try Ranked(formats)
        #expect(set.best(for: subject) == (nil, formats.count))
        // Read byte by byte, each pair of pieces would take the subject's length.
        let pieces = 2 * formats.count * perPredicate
        let compared = set.compared(for: subject)
        #expect(compared <= 4 * Occurrences.price(subject.utf8.count) + pieces * 120, "\(compared / pieces) a piece")
    }

    /// Tried at each offset, each of them takes the product of its length and the subject's.
    @Test("Question marks behind a star cost the length of the subject, not its product with the pattern's")
    func questionMarksBehindStars() throws {
        let letters = String(repeating: "a", count: 1000)
        let marks = String(repeating: "?", count: 1000)
        let mixed = String(repeating: "a?", count: 500)
        let patterns = [
            "*\(marks)ab?*", "*\(marks)ab?", "*\(letters)?b*", "*\(mixed)b*", "*\(mixed)b?c*a", "*ab*\(mixed)b?",
            "*" + String(repeating: "a?b?a*", count: 160) + "c?",
        ]
        let subject = String(repeating: "a", count: 500) + "ab" + String(repeating: "a", count: 3500)
        let subjects = [subject, subject + "\u{1}", subject + "é", "\u{2028}\(subject)", "\(subject)\n"]
        for pattern in patterns {
            let set = try Ranked(["SELF LIKE '\(pattern)' OR SELF > 'zz'"])
            let literals = pattern.split { $0 == "*" || $0 == "?" }.count
            for subject in subjects {
                let most = 40 * subject.utf8.count + 256 * literals + 24_576
                #expect(set.compared(for: subject) <= most, "\(pattern.prefix(20)) \(set.compared(for: subject))")
            }
        }
    }

    @Test("No evaluation takes more steps than the predicate says", arguments: 0..<200 as Range<UInt64>)
    func mostSteps(seed: UInt64) throws {
        var source = RandomPredicates(seed: seed)
        for _ in 0..<20 {
            let predicate = try Predicate(root: source.tree(), span: SourceSpan(offset: 0, length: 0))
            guard let subject = source.subject(), subject.utf8.allSatisfy({ $0 < 0x80 }) else { continue }
            var index = PredicateIndex(hash: KeyHash(seed: seed))
            let node = index.node(for: predicate, .byNode)
            let effort = index.answers(about: subject) { answers in
                _ = answers.holds(node)
                return answers.effort
            }
            #expect(
                effort.compared <= predicate.mostSteps(for: subject.utf8.count),
                "\(predicate) for \(subject.debugDescription)")
        }
    }

    /// The subject is the pattern, and both are as long as a literal.
    @Test(
        "A subject that is read as a pattern costs no more than a pattern",
        arguments: ["'%' LIKE SELF", "'%' LIKE[d] SELF"])
    func patternsOfSubjects(format: String) throws {
        let letters = String(repeating: "a", count: 1000)
        let set = try Ranked([format.split(separator: "%").joined(separator: letters)])
        let marks = String(repeating: "a?", count: 230)
        for subject in ["*\(marks)b?", "*\(marks)b?*", "*\(marks)b?é", "*\(letters.prefix(500))b?*\(marks)"] {
            let most = 40 * 1024 + 256 * 512 + 24_576
            #expect(set.compared(for: subject) <= most, "\(subject.prefix(20)) \(set.compared(for: subject))")
        }
    }

    @Test("A subject is read as a pattern once, for all predicates that need it")
    func patternMadeOnce() throws {
        let set = try Ranked((0..<100).map { "'\($0)-a' LIKE[cd] SELF" })
        let subject = "*" + String(repeating: "é*", count: 340)
        #expect(set.compared(for: subject) <= 32 * subject.utf8.count + 100 * 256)
        #expect(set.best(for: "99-?").place == 99 && set.best(for: "?9-Á").place == 19)
    }

    @Test("A node is evaluated once for all sessions that share it", arguments: [1, 32, 33, 200])
    func askedOnce(count: Int) throws {
        let set = try Ranked((0..<count).map { "SELF ENDSWITH '\($0 % 2)' AND SELF != 'x\($0)'" })
        set.index.answers(about: "subject-1") { answers in
            for _ in 0..<3 {
                for (node, number) in set.nodes { #expect(answers.holds(node) == (number % 2 == 1)) }
            }
            #expect(answers.effort.asked == count && answers.questions == 3 * count)
        }
    }

    /// The sum of the list's keys seems dearer than the beginning until as many share that as the list has keys.
    @Test("A list of texts of its own is found by them, also where all share a beginning", arguments: [10, 50, 400])
    func listAndCommonBeginning(count: Int) throws {
        let sessions = count == 400 ? 24 : 100
        for format in ["SELF == '%'", "SELF ENDSWITH '%'", "SELF CONTAINS '%'", "SELF LIKE '*%*'"] {
            let set = try Ranked(
                (0..<sessions).map { session in
                    let terms = (0..<count).map {
                        format.split(separator: "%").joined(separator: "myapp://\(session)/\($0)-end")
                    }
                    return "SELF BEGINSWITH 'myapp://' AND (\(terms.joined(separator: " OR ")))"
                })
            let miss = set.best(for: "myapp://nope/1")
            #expect(miss.place == nil && miss.asked <= 16, "asked \(miss.asked)")
            let hit = set.best(for: "myapp://7/3-end")
            #expect(hit.place == 7 && hit.asked <= 17, "asked \(hit.asked)")
        }
    }

    /// Letters in an order that repeats late.
    private static func filler(_ count: Int, from start: Int) -> String {
        let letters = (start..<start + count).map { (number: Int) -> UInt8 in
            let letter = (number * number + number / 7) % 26
            return UInt8(97 + letter)
        }
        return String(decoding: letters, as: UTF8.self)
    }

    @Test("Negations cost one evaluation and one for each that is false")
    func negations() throws {
        let set = try Ranked((0..<800).map { "NOT SELF == 'doc/\($0)' AND NOT SELF == 'doc/\($0 + 1)'" })
        #expect(set.best(for: "other") == (0, 1))
        // Of the three best, the subject makes the first two false.
        #expect(set.best(for: "doc/1") == (2, 3))
        #expect(set.best(for: "doc/799") == (0, 1))
    }

    @Test("Patterns with many stars are evaluated only where their rarest literal is")
    func nestedPatterns() throws {
        let stars = String(repeating: "a*", count: 20)
        let set = try Ranked((0..<300).map { "SELF LIKE '*\(stars)b\($0)'" })
        let subject = String(repeating: "a", count: 4000)
        let miss = set.best(for: subject + "b")
        #expect(miss.place == nil && miss.asked == 0)
        let hit = set.best(for: subject + "b77")
        #expect(hit.place == 77 && hit.asked <= 2, "asked \(hit.asked)")
    }

    @Test("A range whose bounds begin alike is found by that beginning")
    func ranges() throws {
        let formats = (0..<1000).map { number in
            let bounds = ("m-\(10_000 + number)0", "m-\(10_000 + number)9")
            return number % 2 == 0
                ? "SELF BETWEEN {'\(bounds.0)', '\(bounds.1)'}"
                : "NOT SELF <[c] '\(bounds.0.uppercased())' AND SELF <=[c] '\(bounds.1)'"
        }
        let set = try Ranked(formats)
        for number in [0, 1, 500, 501, 998, 999] {
            let hit = set.best(for: "m-\(10_000 + number)5x")
            #expect(hit.place == number && hit.asked <= 8, "asked \(hit.asked)")
        }
        #expect(set.best(for: "m-20000") == (nil, 0))
    }

    @Test("Predicates without a key are evaluated, best first, until one holds")
    func residual() throws {
        let set = try Ranked((0..<500).map { "SELF > 'm\($0 + 100)'" })
        #expect(set.best(for: "z") == (0, 1))
        let miss = set.best(for: "a")
        #expect(miss.place == nil && miss.asked == 500)
    }

    @Test(
        "Subjects of all lengths are prepared the same", arguments: [0, 1, 7, 8, 495, 496, 497, 4095, 4096, 4097, 9000])
    func lengths(count: Int) throws {
        let text = String(repeating: "aB3/", count: count / 4 + 1).prefix(count)
        let set = try Ranked([
            "SELF ==[c] '\(text.prefix(1000))'", "SELF ENDSWITH[c] '\(text.suffix(30))' AND SELF BEGINSWITH 'aB3/aB'",
            "SELF LIKE '*'",
        ])
        let expected = count <= 1000 ? 0 : 1
        #expect(set.best(for: String(text)).place == expected)
    }
}
