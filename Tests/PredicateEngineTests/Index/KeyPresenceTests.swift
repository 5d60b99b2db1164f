import Testing

@testable import PredicateEngine

/// The summary of all keys: the tags of a subject that are worth looking up.
@Suite("Key presence") struct KeyPresenceTests {
    private static let hash = KeyHash(seed: 0x0F1E_2D3C_4B5A_6978)

    /// The tags that are looked up for an ASCII subject.
    private static func tags(_ live: borrowing KeyPresence, of subject: String) -> Set<UInt32> {
        var tags: Set<UInt32> = []
        withUnsafePointer(to: live) { live in
            Array(subject.utf8).withUnsafeBufferPointer { bytes in
                PreparedSubject.with(bytes, folds: true) { subject in
                    KeyPresence.forEachTag(live, of: subject, hash) { tags.insert($0) }
                }
            }
        }
        return tags
    }

    /// The key of a text. Behind it are the eight bytes that may be read.
    private static func key(_ place: AccessKey.Place, _ text: String, isFolded: Bool) -> AccessKey {
        let bytes = Array(text.utf8) + Array(repeating: 0x7F, count: 8)
        return bytes.withUnsafeBufferPointer { buffer in
            let start = buffer.baseAddress.unsafelyUnwrapped
            if place == .window { return hash.windowKey(start, size: text.utf8.count, isFolded: isFolded) }
            return hash.key(place, start, text.utf8.count, isFolded: isFolded)
        }
    }

    /// A part of the subject, as a key that it has.
    private static func randomKey(of subject: String, _ random: inout SplitMix64) -> AccessKey {
        let isFolded = random.below(2) == 0
        let text = isFolded ? subject.lowercased() : subject
        switch random.below(4) {
        case 0: return key(.start, String(text.prefix(1 + random.below(text.count))), isFolded: isFolded)
        case 1: return key(.end, String(text.suffix(1 + random.below(text.count))), isFolded: isFolded)
        case 2: return key(.whole, text, isFolded: isFolded)
        default:
            let size = random.pick(AccessKey.windowSizes)
            let start = random.below(text.count - size + 1)
            return key(.window, String(text.dropFirst(start).prefix(size)), isFolded: isFolded)
        }
    }

    /// Subjects long enough for more than sixty-four lengths of starts and of ends.
    @Test(arguments: 0..<12 as Range<UInt64>)
    func everyKeyOfASubjectIsLookedUp(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let letters = Array("abcdeXYZ/0")
        let subjects = (0..<4).map { _ in String((0..<100 + random.below(120)).map { _ in random.pick(letters) }) }
        var live = KeyPresence()
        var keys: [(key: AccessKey, subject: Int)] = []
        for step in 0..<900 {
            if !keys.isEmpty, random.below(900) < step {
                live.remove(keys.remove(at: random.below(keys.count)).key)
            } else {
                let subject = random.below(subjects.count)
                let key = Self.randomKey(of: subjects[subject], &random)
                live.add(key)
                keys.append((key, subject))
            }
            guard step % 30 == 0 else { continue }
            for (number, text) in subjects.enumerated() {
                let tags = Self.tags(live, of: text)
                for (key, subject) in keys where subject == number && !tags.contains(key.tag) {
                    Issue.record("seed \(seed), step \(step): \(key) is not looked up")
                }
            }
        }
        for (key, _) in keys { live.remove(key) }
        for text in subjects { #expect(Self.tags(live, of: text).isEmpty) }
    }

    @Test("A window is looked up where its head and its tail are in use, and nowhere else")
    func headsAndTails() {
        let windows = ["/1234567", "1234567/", "rev/12", "-t"]
        var live = KeyPresence()
        for window in windows { live.add(Self.key(.window, window, isFolded: false)) }
        for window in windows {
            let tag = Self.key(.window, window, isFolded: false).tag
            #expect(Self.tags(live, of: "a\(window)b").contains(tag))
            #expect(Self.tags(live, of: window) == [tag], "\(window) is all there is room for")
        }
        for subject in ["a12345678b", "/1204068", "rev/345", "re/12", "1234567"] {
            #expect(
                Self.tags(live, of: subject).isEmpty, "\(subject) has heads and tails, but not where windows have them")
        }
        live.remove(Self.key(.window, "1234567/", isFolded: false))
        live.remove(Self.key(.window, "/1234567", isFolded: false))
        #expect(Self.tags(live, of: "/1234567/").isEmpty, "no window of eight is in use any more")
    }

    @Test("Marks of windows that are gone cost at most one look for each offset, and go with the last of their kind")
    func marksThatStay() {
        var random = SplitMix64(seed: 3)
        let letters = Array("abcdefgh")
        func text(_ count: Int) -> String { String((0..<count).map { _ in random.pick(letters) }) }
        let windows = (0..<4000).map { _ in Self.key(.window, text(8), isFolded: false) }
        var live = KeyPresence()
        for window in windows { live.add(window) }
        for window in windows.dropFirst() { live.remove(window) }
        let subject = text(600)
        #expect(Self.tags(live, of: subject).count <= subject.count - 7)
        live.remove(windows[0])
        #expect(Self.tags(live, of: subject).isEmpty)
    }

    /// Of windows that come and go, a decision follows the present ones.
    @Test("The filter rules out windows that are gone")
    func goneFromFilter() throws {
        var index = PredicateIndex(hash: Self.hash)
        for round in 0..<20 {
            let nodes = try (0..<1000).map { number in
                let format = "SELF CONTAINS 'w\(10_000_000 + number * 7919 + round * 13)'"
                return index.node(for: try Predicate(format: format), .byNode)
            }
            for node in nodes { index.remove(node, .byNode) }
        }
        let filter = index.tables.pointee.keys.filter.view
        let known = (0..<1_000_000 as Range<UInt32>).filter { filter.mayContain($0 &* 4093) }.count
        #expect(known < 100_000, "\(known) of a million tags pass")
    }
}
