/// A Bloom filter: it rules out most tags that are not in a table, at the price of one word of a small memory.
///
///     word    the tag's upper bits choose one of the words, four tags a word on average
///     bits    the tag's lower twelve bits choose two bits in it: both are set, or the tag is unknown
///
/// About one unknown tag in fifty passes. Tags cannot be taken out; the filter is rebuilt when the table grows, and
/// when as many tags have been taken out of the table as are in it.
struct TagFilter: ~Copyable {
    private var words: Slab<UInt64>

    init(tags: Int) {
        words = Slab(capacity: max(tags / 4, 1))
        let start = words.extend(by: words.capacity)
        (words.base + start).initialize(repeating: 0, count: words.capacity)
    }

    var byteCount: Int { words.byteCount }

    /// A view of the filter, until the next change.
    struct View {
        fileprivate let words: UnsafePointer<UInt64>
        fileprivate let count: Int

        @inline(__always)
        fileprivate func index(_ tag: UInt32) -> Int { Int((UInt64(tag) &* UInt64(count)) >> 32) }

        @inline(__always)
        func mayContain(_ tag: UInt32) -> Bool {
            let bits = TagFilter.bits(tag)
            return words[index(tag)] & bits == bits
        }
    }

    @inline(__always)
    var view: View { View(words: UnsafePointer(words.base), count: words.count) }

    @inline(__always)
    private static func bits(_ tag: UInt32) -> UInt64 {
        1 &<< UInt64(tag & 63) | 1 &<< UInt64(tag >> 6 & 63)
    }

    mutating func insert(_ tag: UInt32) { words[view.index(tag)] |= Self.bits(tag) }

    private init(words: consuming Slab<UInt64>) { self.words = words }

    func copy() -> TagFilter { TagFilter(words: words.copy()) }
}
