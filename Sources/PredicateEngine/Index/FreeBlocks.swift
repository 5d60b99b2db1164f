/// Free words of removed nodes, found by length. Each block describes itself, as a record of a node does:
///
///     words   ──▶ – │ free, length │ next, previous │ –        24 bytes, then whatever was there
///     heads   ──▶ of each class of lengths, the block that came last
///     class       length                 below 32 words
///                 sixteen to a doubling  above: 32…33, 34…35, … 62…63, 64…67, …
///
/// So code that walks a piece can tell a block from the nodes beside it, and a block that is joined with its neighbour
/// is taken from its class at once. As long as nothing is free, only three words are read.
struct FreeBlocks: ~Copyable {
    /// The words of the smallest block, and of the smallest node: a record and a word of code.
    static var least: Int { NodeStore.recordWords + 1 }
    /// No block.
    private static var none: UInt32 { .max }
    /// The number of blocks of its own class that are checked for one that is long enough; those of higher classes all
    /// are.
    private static var looks: Int { 16 }
    private static var classes: Int { 192 }

    /// Empty until there is a block.
    private var heads = Slab<UInt32>()
    /// A bit for each class with blocks.
    private var present = InlineArray<3, UInt64>(repeating: 0)

    init() {}

    var byteCount: Int { heads.byteCount }

    private static func number(ofClass length: Int) -> Int {
        if length < 32 { return length }
        let scale = Int.bitWidth - 5 - length.leadingZeroBitCount
        return 16 * scale + length >> scale
    }

    static func isFree(_ record: NodeRecord) -> Bool { record.list == NodeRecord.free }

    /// The words of a block.
    static func length(_ record: NodeRecord) -> Int { Int(record.position) }

    /// Makes a block of words that are in no node and no block.
    mutating func add(_ block: UInt32, words length: Int, _ places: NodePlaces) {
        if heads.count == 0 {
            let start = heads.extend(by: Self.classes)
            (heads.base + start).initialize(repeating: Self.none, count: Self.classes)
        }
        let number = Self.number(ofClass: length)
        let next = heads[number]
        var record = NodeRecord()
        record.list = NodeRecord.free
        record.position = UInt32(length)
        record.note = NodeNote(first: next, second: Self.none)
        places.record(block).initialize(to: record)
        if next != Self.none { places.record(next).pointee.note.second = block }
        heads[number] = block
        present[number / 64] |= 1 << UInt64(number % 64)
    }

    /// Takes a block from its class; its words are the caller's.
    mutating func remove(_ block: UInt32, _ places: NodePlaces) {
        let record = places[block]
        let (next, previous) = (record.note.first, record.note.second)
        if next != Self.none { places.record(next).pointee.note.second = previous }
        if previous != Self.none {
            places.record(previous).pointee.note.first = next
            return
        }
        let number = Self.number(ofClass: Self.length(record))
        heads[number] = next
        if next == Self.none { present[number / 64] &= ~(1 << UInt64(number % 64)) }
    }

    /// Takes out a block that has just so many words, or some more, of which another block can be made; nil if there is
    /// none.
    mutating func take(words wanted: Int, _ places: NodePlaces) -> (block: UInt32, words: Int)? {
        guard present[0] | present[1] | present[2] != 0 else { return nil }
        var block = heads[Self.number(ofClass: wanted)]
        var looked = 0
        while block != Self.none, looked < Self.looks {
            let record = places[block]
            let length = Self.length(record)
            if length == wanted || length >= wanted + Self.least {
                remove(block, places)
                return (block, length)
            }
            block = record.note.first
            looked += 1
        }
        // All blocks of the class after that of this length are longer.
        guard let number = firstPresent(from: Self.number(ofClass: wanted + Self.least - 1) + 1) else { return nil }
        block = heads[number]
        let length = Self.length(places[block])
        remove(block, places)
        return (block, length)
    }

    /// The first class with blocks among those from a number on.
    private func firstPresent(from start: Int) -> Int? {
        var (place, mask) = (start / 64, UInt64.max << UInt64(start % 64))
        while place < present.count {
            let bits = present[place] & mask
            if bits != 0 { return 64 * place + bits.trailingZeroBitCount }
            (place, mask) = (place + 1, .max)
        }
        return nil
    }

    private init(heads: consuming Slab<UInt32>, present: InlineArray<3, UInt64>) {
        self.heads = heads
        self.present = present
    }

    /// The same blocks, for a copy of the words.
    func copy() -> FreeBlocks { FreeBlocks(heads: heads.copy(), present: present) }
}
