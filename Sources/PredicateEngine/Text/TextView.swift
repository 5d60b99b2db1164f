/// Folded text as a decision reads it: the addresses of its bytes and seams, without a count of references.
///
/// The relations are those of `FoldedText`; they are written twice because a decision must not touch arrays, and so
/// that each can be tested against the other.
struct TextView {
    let bytes: UnsafePointer<UInt8>
    let count: Int
    /// Nil if the text may be cut everywhere, as all ASCII may.
    let seams: UnsafePointer<UInt8>?

    /// The empty text, at an address that is never read.
    static var empty: TextView { TextView(bytes: UnsafePointer(bitPattern: 8).unsafelyUnwrapped, count: 0, seams: nil) }

    init(bytes: UnsafePointer<UInt8>, count: Int, seams: UnsafePointer<UInt8>?) {
        (self.bytes, self.count, self.seams) = (bytes, count, seams)
    }

    /// Text that may be cut everywhere.
    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        if let start = bytes.baseAddress, !bytes.isEmpty {
            self.init(bytes: start, count: bytes.count, seams: nil)
        } else {
            self = .empty
        }
    }

    /// Whether the bytes at the offset are the literal's, which has to fit.
    @inline(__always)
    func matches(_ literal: UnsafePointer<UInt8>, _ length: Int, at offset: Int) -> Bool {
        Self.isSame(bytes + offset, literal, length)
    }

    /// Whether both places hold the same bytes, eight at a time.
    @inline(__always)
    static func isSame(_ left: UnsafePointer<UInt8>, _ right: UnsafePointer<UInt8>, _ length: Int) -> Bool {
        let (left, right) = (UnsafeRawPointer(left), UnsafeRawPointer(right))
        var offset = 0
        while offset &+ 8 <= length {
            if left.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                != right.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            {
                return false
            }
            offset &+= 8
        }
        while offset < length {
            if left.load(fromByteOffset: offset, as: UInt8.self) != right.load(fromByteOffset: offset, as: UInt8.self) {
                return false
            }
            offset &+= 1
        }
        return true
    }

    @inline(__always)
    func canCut(at offset: Int) -> Bool {
        guard let seams else { return true }
        return offset == 0 || offset == count || seams[offset] == 0
    }

    @inline(__always)
    func equals(_ literal: UnsafePointer<UInt8>, _ length: Int) -> Bool {
        length == count && matches(literal, length, at: 0)
    }

    @inline(__always)
    func hasPrefix(_ literal: UnsafePointer<UInt8>, _ length: Int) -> Bool {
        length <= count && matches(literal, length, at: 0) && canCut(at: length)
    }

    @inline(__always)
    func hasSuffix(_ literal: UnsafePointer<UInt8>, _ length: Int) -> Bool {
        length <= count && matches(literal, length, at: count - length) && canCut(at: count - length)
    }

    /// Less than zero if the text comes before the literal in the order of UTF-16 code units, zero if they are equal.
    func order(_ literal: UnsafePointer<UInt8>, _ length: Int) -> Int {
        for index in 0..<min(count, length) where bytes[index] != literal[index] {
            let (left, right) = (bytes[index], literal[index])
            // The one place where UTF-16 orders otherwise than UTF-8: surrogates come before U+E000.
            if left >= 0xEE, right >= 0xEE, (left < 0xF0) != (right < 0xF0) { return left >= 0xF0 ? -1 : 1 }
            return left < right ? -1 : 1
        }
        return count - length
    }

    /// The end of the unit that begins at the offset: one scalar of the text as given, whatever became of it.
    func unitEnd(after offset: Int) -> Int {
        var end = offset + 1
        while end < count {
            let isJoined = seams.map { $0[end] & FoldedText.joined != 0 } ?? false
            guard bytes[end] & 0xC0 == 0x80 || isJoined else { break }
            end += 1
        }
        return end
    }

    /// Whether a line ends at the offset, which no wildcard takes.
    func isLineTerminator(at offset: Int) -> Bool {
        switch bytes[offset] {
        case 0x0A...0x0D: return true
        case 0xC2: return offset + 1 < count && bytes[offset + 1] == 0x85
        case 0xE2:
            guard offset + 2 < count, bytes[offset + 1] == 0x80 else { return false }
            return bytes[offset + 2] == 0xA8 || bytes[offset + 2] == 0xA9
        default: return false
        }
    }
}
