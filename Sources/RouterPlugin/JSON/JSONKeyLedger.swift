/// The keys of all open objects, for finding one that occurs twice.
///
///     { "a": { "b": 1, "c": { "d": …      keys   [ a | b c | d ]      one run per open object
///                                         marks  [ # | # # | # ]      a hash of each, beside it
///
/// Up to `narrow` keys of an object are compared one by one through their marks, which for so few is faster than any
/// table. Marks are cheap and can be forged; with `narrow` as the bound that costs a constant factor at most. Beyond it
/// a set takes over, hashed with the process's random seed, so that no document can cost more than linear work.
struct JSONKeyLedger {
    private static let narrow = 128

    private var keys: [JSONText] = []
    private var marks: [UInt64] = []
    /// A set for each open object with more than `narrow` keys, innermost last.
    private var wide: [Set<ByteExactText>] = []

    /// How many keys are in the ledger: where the run of the next object begins.
    var count: Int { keys.count }

    /// The key at a place of the ledger.
    subscript(place: Int) -> JSONText { keys[place] }

    /// Adds a key to the innermost object, whose run begins at `first`; false if the object had it already.
    ///
    /// It is added in either case: reading ends there, and the error names the last key.
    mutating func insert(_ key: JSONText, first: Int, in bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let known = keys.count - first
        let mark = key.mark(in: bytes)
        let isNew: Bool
        if known < Self.narrow {
            isNew = !isKnown(key, mark, first: first, in: bytes)
        } else {
            if known == Self.narrow { wide.append(Set(keys[first...].map { ByteExactText($0.decoded(in: bytes)) })) }
            isNew = wide[wide.count - 1].insert(ByteExactText(key.decoded(in: bytes))).inserted
        }
        keys.append(key)
        marks.append(mark)
        return isNew
    }

    private func isKnown(
        _ key: JSONText, _ mark: UInt64, first: Int, in bytes: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        marks.withUnsafeBufferPointer { marks in
            for place in first..<marks.count where marks[place] == mark {
                if keys[place].equals(key, in: bytes) { return true }
            }
            return false
        }
    }

    /// Forgets the innermost object, whose run begins at `first`.
    mutating func close(first: Int) {
        if keys.count - first > Self.narrow { wide.removeLast() }
        // Removed one by one: removing a range moves the elements behind it, and there are none.
        while keys.count > first {
            keys.removeLast()
            marks.removeLast()
        }
    }
}

extension JSONText {
    /// A hash of the text without escapes: the length and every byte, eight at a time.
    fileprivate func mark(in bytes: UnsafeBufferPointer<UInt8>) -> UInt64 {
        guard !isEscaped else {
            let text = unescaped(in: bytes)
            return text.withUnsafeBufferPointer { JSONText(start: 0, end: text.count, isEscaped: false).mark(in: $0) }
        }
        let raw = UnsafeRawBufferPointer(bytes)
        var mark = UInt64(truncatingIfNeeded: end - start)
        var cursor = start
        while cursor + 8 <= end {
            mark = Self.mix(mark, raw.loadUnaligned(fromByteOffset: cursor, as: UInt64.self))
            cursor += 8
        }
        var rest: UInt64 = 0
        while cursor < end {
            rest = rest << 8 | UInt64(raw[cursor])
            cursor += 1
        }
        return Self.mix(mark, rest)
    }

    private static func mix(_ mark: UInt64, _ word: UInt64) -> UInt64 {
        let product = (mark ^ word) &* 0x9E37_79B9_7F4A_7C15
        return product ^ product >> 29
    }
}
