// The rules of strings and numbers.
extension JSONScanner {
    // MARK: Strings

    /// A string: at its opening quote before, after its closing quote afterwards.
    mutating func text() throws(JSONError) -> JSONText {
        let start = position + 1
        var isEscaped = false
        var cursor = start
        while true {
            cursor = skipPlain(from: cursor)
            guard cursor < bytes.count else { throw fault(.unexpectedEnd, at: bytes.count) }
            switch bytes[cursor] {
            case UInt8(ascii: "\""):
                position = cursor + 1
                return JSONText(start: start, end: cursor, isEscaped: isEscaped)
            case UInt8(ascii: "\\"):
                isEscaped = true
                cursor = try escape(at: cursor)
            case ..<0x20: throw fault(.controlCharacter, at: cursor)
            default: cursor = try multibyte(at: cursor)
            }
        }
    }

    /// The first place from there on that is not printable ASCII without quote and backslash.
    ///
    /// Eight bytes at a time. With `t` a byte of a word, `(t - 0x01) & ~t & 0x80` is set if `t` is 0, so a quote is
    /// found by first turning it into 0; `(t - 0x20) & ~t & 0x80` is set if `t` is below 0x20. A borrow can raise a
    /// false alarm only to the left of a true one, and the loop over single bytes below settles which it was.
    private mutating func skipPlain(from start: Int) -> Int {
        let ones: UInt64 = 0x0101_0101_0101_0101
        var cursor = start
        let raw = UnsafeRawBufferPointer(bytes)
        while cursor + 8 <= bytes.count {
            let word = raw.loadUnaligned(fromByteOffset: cursor, as: UInt64.self)
            let quote = word ^ ones &* 0x22
            let backslash = word ^ ones &* 0x5C
            let control = (word &- ones &* 0x20) & ~word
            let found = (quote &- ones) & ~quote | (backslash &- ones) & ~backslash | control | word
            guard found & (ones &* 0x80) == 0 else { break }
            cursor += 8
        }
        while cursor < bytes.count {
            let byte = bytes[cursor]
            if byte < 0x20 || byte >= 0x80 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
            cursor += 1
        }
        return cursor
    }

    /// An escape that begins there; returns where it ends.
    private mutating func escape(at start: Int) throws(JSONError) -> Int {
        guard start + 1 < bytes.count else { throw fault(.unexpectedEnd, at: bytes.count) }
        switch bytes[start + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return start + 2
        case UInt8(ascii: "u"): break
        default: throw fault(.invalidEscape, at: start)
        }
        switch try codeUnit(at: start) {
        case 0xD800..<0xDC00:
            let second = start + 6
            guard second + 1 < bytes.count else {
                throw fault(second == bytes.count ? .unexpectedEnd : .loneSurrogate, at: second)
            }
            guard bytes[second] == UInt8(ascii: "\\"), bytes[second + 1] == UInt8(ascii: "u"),
                0xDC00..<0xE000 ~= (try codeUnit(at: second))
            else { throw fault(.loneSurrogate, at: start) }
            return second + 6
        case 0xDC00..<0xE000: throw fault(.loneSurrogate, at: start)
        default: return start + 6
        }
    }

    /// The code unit of the escape `\uXXXX` that begins there.
    private mutating func codeUnit(at start: Int) throws(JSONError) -> UInt32 {
        var unit: UInt32 = 0
        for offset in start + 2..<start + 6 {
            guard offset < bytes.count else { throw fault(.unexpectedEnd, at: bytes.count) }
            guard let digit = hexDigit(bytes[offset]) else { throw fault(.invalidEscape, at: start) }
            unit = unit << 4 | UInt32(digit)
        }
        return unit
    }

    /// A character of two to four bytes; returns where it ends. The ranges are those of Unicode's table 3-7, which
    /// leaves out overlong forms, surrogates and values beyond U+10FFFF.
    private mutating func multibyte(at start: Int) throws(JSONError) -> Int {
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch bytes[start] {
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: length = 4
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: throw fault(.invalidUTF8, at: start)
        }
        guard start + length <= bytes.count, second ~= bytes[start + 1] else { throw fault(.invalidUTF8, at: start) }
        for offset in start + 2..<start + max(length, 2) {
            guard 0x80...0xBF ~= bytes[offset] else { throw fault(.invalidUTF8, at: start) }
        }
        return start + length
    }

    // MARK: Numbers

    /// A number: at its first byte before, after its last one afterwards.
    mutating func number() throws(JSONError) -> Range<Int> {
        let start = position
        if bytes[position] == UInt8(ascii: "-") { position += 1 }
        if position < bytes.count, bytes[position] == UInt8(ascii: "0") {
            position += 1
            // `01` is not a number followed by something else, it is a number written wrongly.
            guard digit(at: position) == false else { throw fault(.invalidNumber, at: start) }
        } else {
            try digits(of: start)
        }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            position += 1
            try digits(of: start)
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < bytes.count, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
                position += 1
            }
            try digits(of: start)
        }
        guard position - start <= limits.maximumNumberLength else { throw fault(.numberTooLong, at: start) }
        return start..<position
    }

    private mutating func digit(at offset: Int) -> Bool {
        offset < bytes.count && UInt8(ascii: "0")...UInt8(ascii: "9") ~= bytes[offset]
    }

    /// One digit or more of the number that began at `start`.
    private mutating func digits(of start: Int) throws(JSONError) {
        guard position < bytes.count else { throw fault(.unexpectedEnd, at: bytes.count) }
        guard digit(at: position) else { throw fault(.invalidNumber, at: start) }
        while digit(at: position) { position += 1 }
    }
}
