extension FoldedText {
    /// Whether the text begins with the other, which never holds for an empty one.
    func hasPrefix(_ prefix: FoldedText) -> Bool {
        !prefix.bytes.isEmpty && matches(prefix, at: 0) && canCut(at: prefix.bytes.count)
    }

    /// Whether the text ends with the other, which never holds for an empty one.
    func hasSuffix(_ suffix: FoldedText) -> Bool {
        let start = bytes.count - suffix.bytes.count
        return start >= 0 && !suffix.bytes.isEmpty && matches(suffix, at: start) && canCut(at: start)
    }

    /// Whether the other text occurs in this one, which never holds for an empty one.
    ///
    /// Takes at most the product of both lengths; one of them is a literal, which is bounded.
    func contains(_ needle: FoldedText) -> Bool {
        guard let first = needle.bytes.first, needle.bytes.count <= bytes.count else { return false }
        for start in 0...(bytes.count - needle.bytes.count) where bytes[start] == first {
            if matches(needle, at: start), canCut(at: start), canCut(at: start + needle.bytes.count) { return true }
        }
        return false
    }

    /// Whether the other text's bytes are these at the offset.
    func matches(_ other: FoldedText, at offset: Int) -> Bool {
        guard other.bytes.count <= bytes.count - offset else { return false }
        for index in other.bytes.indices where bytes[offset + index] != other.bytes[index] { return false }
        return true
    }

    /// Whether the text comes before the other in the order of UTF-16 code units, which is Foundation's.
    ///
    /// It differs from the order of bytes in one place: UTF-16 writes U+10000 and beyond as surrogates, which come
    /// before U+E000…U+FFFF, while UTF-8 begins the former with F0…F4 and the latter with EE and EF.
    func precedes(_ other: FoldedText) -> Bool {
        let shared = min(bytes.count, other.bytes.count)
        for index in 0..<shared where bytes[index] != other.bytes[index] {
            let (left, right) = (bytes[index], other.bytes[index])
            if left >= 0xEE, right >= 0xEE, left < 0xF0 || right < 0xF0, left >= 0xF0 || right >= 0xF0 {
                return left >= 0xF0
            }
            return left < right
        }
        return bytes.count < other.bytes.count
    }

    /// Whether a line ends at the offset: the characters that ICU's `.` does not match, which is what
    /// NSPredicate makes of the wildcards of `LIKE`.
    func isLineTerminator(at offset: Int) -> Bool {
        switch bytes[offset] {
        case 0x0A...0x0D: return true
        case 0xC2: return offset + 1 < bytes.count && bytes[offset + 1] == 0x85
        case 0xE2:
            guard offset + 2 < bytes.count, bytes[offset + 1] == 0x80 else { return false }
            return bytes[offset + 2] == 0xA8 || bytes[offset + 2] == 0xA9
        default: return false
        }
    }
}
