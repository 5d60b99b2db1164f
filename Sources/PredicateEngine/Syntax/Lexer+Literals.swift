// MARK: - Strings

extension Lexer {
    /// A string literal: everything up to the next quote of the same kind, escapes resolved.
    mutating func string(quotedBy quote: UInt8) throws(PredicateError) -> [UInt8] {
        let start = offset
        advance()
        var content: [UInt8] = []
        while let byte = byte(at: 0) {
            if byte == quote {
                advance()
                try checkLength(content.count, of: "the string", from: start)
                return content
            }
            if byte == UInt8(ascii: "\\") {
                content.append(contentsOf: try escape())
            } else {
                content.append(byte)
                advance()
            }
        }
        throw PredicateError(.unterminatedString, "the string has no closing quote", at: span(from: start))
    }

    /// One escape, from its backslash on: `\\ \' \" \a \b \f \n \r \t \v`, `\ooo`, `\xHH`, `\uHHHH`.
    private mutating func escape() throws(PredicateError) -> [UInt8] {
        let start = offset
        advance()
        guard let selector = byte(at: 0) else {
            throw PredicateError(.unterminatedString, "the string has no closing quote", at: span(from: start))
        }
        switch selector {
        case UInt8(ascii: "0")...UInt8(ascii: "7"):
            return Array(String(try scalar(digits: 3, radix: 8, from: start)).utf8)
        case UInt8(ascii: "x"), UInt8(ascii: "X"):
            advance()
            return Array(String(try scalar(digits: 2, radix: 16, from: start)).utf8)
        case UInt8(ascii: "u"), UInt8(ascii: "U"):
            advance()
            return Array(String(try utf16Escape(from: start)).utf8)
        default:
            guard let byte = Self.simpleEscapes[selector] else { throw invalidEscape(from: start) }
            advance()
            return [byte]
        }
    }

    private static let simpleEscapes: [UInt8: UInt8] = [
        UInt8(ascii: "\\"): UInt8(ascii: "\\"), UInt8(ascii: "'"): UInt8(ascii: "'"),
        UInt8(ascii: "\""): UInt8(ascii: "\""), UInt8(ascii: "a"): 0x07, UInt8(ascii: "b"): 0x08,
        UInt8(ascii: "t"): 0x09, UInt8(ascii: "n"): 0x0A, UInt8(ascii: "v"): 0x0B, UInt8(ascii: "f"): 0x0C,
        UInt8(ascii: "r"): 0x0D,
    ]

    /// The scalar of a numeric escape. Surrogates are no scalars.
    private mutating func scalar(
        digits: Int, radix: UInt32, from start: Int
    ) throws(PredicateError) -> Unicode.Scalar {
        let value = try value(digits: digits, radix: radix, from: start)
        // Three octal digits reach 0777, but an escape stands for a byte's worth at most.
        guard radix == 16 || value <= 0xFF, let scalar = Unicode.Scalar(value) else {
            throw PredicateError(.invalidEscape, "the escape stands for no character", at: span(from: start))
        }
        return scalar
    }

    /// `\uHHHH`, or two of them that make a surrogate pair.
    private mutating func utf16Escape(from start: Int) throws(PredicateError) -> Unicode.Scalar {
        let high = try value(digits: 4, radix: 16, from: start)
        guard (0xD800..<0xDC00).contains(high) else {
            guard let scalar = Unicode.Scalar(high) else { throw unpairedSurrogate(from: start) }
            return scalar
        }
        guard skip(UInt8(ascii: "\\")), skip(UInt8(ascii: "u")) || skip(UInt8(ascii: "U")) else {
            throw unpairedSurrogate(from: start)
        }
        let low = try value(digits: 4, radix: 16, from: start)
        guard (0xDC00..<0xE000).contains(low) else { throw unpairedSurrogate(from: start) }
        guard let scalar = Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00)) else {
            throw unpairedSurrogate(from: start)
        }
        return scalar
    }

    private mutating func value(digits: Int, radix: UInt32, from start: Int) throws(PredicateError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<digits {
            guard let digit = byte(at: 0)?.digitValue, digit < radix else { throw invalidEscape(from: start) }
            value = value * radix + UInt32(digit)
            advance()
        }
        return value
    }

    /// The error for a backslash with something after it that makes no escape. `\*` is the usual one,
    /// from people who want to quote a wildcard, so the message says how.
    private mutating func invalidEscape(from start: Int) -> PredicateError {
        if let byte = byte(at: 0), byte < 0x80 { advance() }
        let isWildcard = ["\\*", "\\?"].contains { bytes[start..<offset].elementsEqual($0.utf8) }
        let message =
            isWildcard
            ? "to quote a wildcard, write two backslashes before it"
            : "an escape is \\\\ \\' \\\" \\a \\b \\f \\n \\r \\t \\v \\ooo \\xHH or \\uHHHH"
        return PredicateError(.invalidEscape, message, at: span(from: start))
    }

    private func unpairedSurrogate(from start: Int) -> PredicateError {
        PredicateError(.invalidEscape, "a surrogate stands for a character in pairs only", at: span(from: start))
    }
}

// MARK: - Numbers

extension Lexer {
    /// A number: `12`, `1.5`, `1e3`, `0x1F`, `0o17`, `0b101`.
    mutating func number() throws(PredicateError) -> Magnitude {
        if byte(at: 0) == UInt8(ascii: "0"), let letter = byte(at: 1), let radix = Self.radixes[letter] {
            return try prefixedNumber(radix: radix)
        }
        let start = offset
        skipDigits()
        var isWhole = true
        if byte(at: 0) == UInt8(ascii: "."), byte(at: 1)?.isDigit == true {
            isWhole = false
            advance()
            skipDigits()
        }
        if let digits = exponentPrefixLength {
            isWhole = false
            advance(by: digits)
            skipDigits()
        }
        try checkLength(offset - start, of: "the number", from: start)
        let text = String(decoding: bytes[start..<offset], as: UTF8.self)
        if isWhole, let value = UInt64(text) { return .whole(value) }
        guard let value = Double(text), value.isFinite else { throw invalidNumber("is not finite", from: start) }
        return .fractional(value)
    }

    private static let radixes: [UInt8: UInt8] = [
        UInt8(ascii: "x"): 16, UInt8(ascii: "X"): 16, UInt8(ascii: "o"): 8, UInt8(ascii: "O"): 8,
        UInt8(ascii: "b"): 2, UInt8(ascii: "B"): 2,
    ]

    /// How many bytes `e`, `e+` or `e-` take, if digits follow; else the letter begins a word of its own.
    private var exponentPrefixLength: Int? {
        guard let letter = byte(at: 0), letter | 0x20 == UInt8(ascii: "e") else { return nil }
        if byte(at: 1)?.isDigit == true { return 1 }
        let isSigned = byte(at: 1) == UInt8(ascii: "+") || byte(at: 1) == UInt8(ascii: "-")
        return isSigned && byte(at: 2)?.isDigit == true ? 2 : nil
    }

    private mutating func skipDigits() {
        while byte(at: 0)?.isDigit == true { advance() }
    }

    private mutating func prefixedNumber(radix: UInt8) throws(PredicateError) -> Magnitude {
        let start = offset
        advance(by: 2)
        var whole: UInt64? = 0
        var approximation = 0.0
        while let digit = byte(at: 0)?.digitValue, digit < radix {
            whole = whole.flatMap { Self.append(digit, to: $0, radix: radix) }
            approximation = approximation * Double(radix) + Double(digit)
            advance()
        }
        guard offset > start + 2 else { throw invalidNumber("has no digits", from: start) }
        // A stray digit is part of the intended number; without this, 0b102 would be reported as two numbers.
        if byte(at: 0)?.isDigit == true {
            skipDigits()
            throw invalidNumber("has a digit that its radix does not have", from: start)
        }
        try checkLength(offset - start, of: "the number", from: start)
        guard approximation.isFinite else { throw invalidNumber("is not finite", from: start) }
        return whole.map(Magnitude.whole) ?? .fractional(approximation)
    }

    private static func append(_ digit: UInt8, to value: UInt64, radix: UInt8) -> UInt64? {
        // The radix is a power of two, so the digit goes into bits that the shift has cleared.
        let (shifted, overflow) = value.multipliedReportingOverflow(by: UInt64(radix))
        return overflow ? nil : shifted + UInt64(digit)
    }

    private func invalidNumber(_ fault: String, from start: Int) -> PredicateError {
        PredicateError(.invalidNumber, "the number \(fault)", at: span(from: start))
    }

    private func checkLength(_ length: Int, of literal: String, from start: Int) throws(PredicateError) {
        guard length > PredicateLimits.literalBytes else { return }
        let message = "\(literal) takes \(length) bytes; the limit is \(PredicateLimits.literalBytes)"
        throw PredicateError(.literalTooLong, message, at: span(from: start))
    }
}
