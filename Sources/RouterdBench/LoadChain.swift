import Router
import RouterPlugin

/// The machine's time for dependent loads from memory, each of which gives the address of the next, with nothing else
/// done. Finding a session takes four of them, and a subject that shares a key with a predicate and does not match it
/// takes three:
///
///     subject ──hash──▶ filter ──▶ table ──▶ nodes ──▶ names
///
/// The parts are as large as those of a registry with as many bytes and sessions, and full of numbers that mean
/// nothing. A load goes to any place of its part, which the number before and the hash of the subject choose.
struct LoadChain {
    /// A word for each eight bytes, one part after the other.
    var words: [UInt64]
    /// Where the words of filter, table, nodes and names are.
    let parts: [Range<Int>]

    init(decisionBytes: Int, sessions: Int) {
        // A registry's filter is 2 % of the memory that decisions read, its table an eighth, its nodes the most of the
        // rest.
        let bytes = [
            decisionBytes / 50, decisionBytes / 8, decisionBytes * 5 / 8, sessions * MemoryLayout<SessionID>.stride,
        ]
        var (parts, end) = ([Range<Int>](), 0)
        for size in bytes.map({ max($0 / 8, 1) }) {
            parts.append(end..<end + size)
            end += size
        }
        var state: UInt64 = 1
        words = (0..<end).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Self.mixed(state)
        }
        self.parts = parts
    }

    /// Times every chain of this many loads by itself, as decisions of the same subjects are timed.
    func timeEach(_ queries: [RegistryQuery], loads: Int, rounds: Int, samples: Int) -> SortedTimes {
        words.withUnsafeBufferPointer { words in
            parts.prefix(loads).withUnsafeBufferPointer { parts in
                var (pass, sum) = (UInt64(0), UInt64(0))
                for query in queries { pass &+= Self.follow(query, words, parts) { _ in } }
                let times = SortedTimes(of: queries, rounds: rounds, samples: samples) { query in
                    sum &+= Self.follow(query, words, parts) { _ in }
                }
                // A load whose value is never read would be left out.
                precondition(sum == pass &* UInt64(times.count / max(queries.count, 1)), "chains of one subject differ")
                return times
            }
        }
    }

    /// The places of the words that are loaded for a subject.
    func places(_ query: RegistryQuery, loads: Int) -> [Int] {
        var places: [Int] = []
        words.withUnsafeBufferPointer { words in
            parts.prefix(loads).withUnsafeBufferPointer { parts in
                _ = Self.follow(query, words, parts) { places.append($0) }
            }
        }
        return places
    }

    /// The last word of a subject's chain.
    @inline(__always)
    private static func follow(
        _ query: RegistryQuery, _ words: UnsafeBufferPointer<UInt64>, _ parts: UnsafeBufferPointer<Range<Int>>,
        _ visit: (Int) -> Void
    ) -> UInt64 {
        let hash = hash(query.subject ?? "")
        var word: UInt64 = 0
        for part in parts {
            let share = mixed(word ^ hash).multipliedFullWidth(by: UInt64(part.count)).high
            let place = part.lowerBound &+ Int(truncatingIfNeeded: share)
            visit(place)
            word = words[place]
        }
        return word
    }

    /// Reads all of a text, eight bytes at a time.
    @inline(__always)
    private static func hash(_ text: String) -> UInt64 {
        text.utf8.withContiguousStorageIfAvailable { bytes in
            let bytes = UnsafeRawBufferPointer(bytes)
            var (state, read) = (UInt64(bytes.count), 0)
            while read &+ 8 <= bytes.count {
                state = mixed(state ^ bytes.loadUnaligned(fromByteOffset: read, as: UInt64.self))
                read &+= 8
            }
            while read < bytes.count {
                state = state << 8 ^ state >> 56 ^ UInt64(bytes[read])
                read &+= 1
            }
            return state
        } ?? 0
    }

    @inline(__always)
    private static func mixed(_ word: UInt64) -> UInt64 {
        let product = word.multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        return product.high ^ product.low
    }
}
