/// Cuts a predicate's text into tokens.
///
/// Works on UTF-8 bytes: every byte with a meaning in the grammar is ASCII, and other bytes occur inside string
/// literals only, where they are copied. White space separates tokens and means nothing else. Of several symbols that
/// begin alike the longest wins: `<=` is never `<` and `=`.
struct Lexer: Sendable {
    private(set) var offset = 0
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The next token. At the end of the text it is `.end`, again and again.
    mutating func next() throws(PredicateError) -> Token {
        skipWhiteSpace()
        let start = offset
        let kind = try tokenKind()
        return Token(kind: kind, span: span(from: start))
    }

    /// The text of the span.
    func text(in span: SourceSpan) -> String {
        String(decoding: bytes[span.offset..<span.end], as: UTF8.self)
    }

    private mutating func tokenKind() throws(PredicateError) -> Token.Kind {
        guard let first = byte(at: 0) else { return .end }
        switch first {
        case UInt8(ascii: "'"), UInt8(ascii: "\""): return .text(try string(quotedBy: first))
        case UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number())
        case UInt8(ascii: "%"): return try percent()
        case UInt8(ascii: "$"): return try prefixedWord(.variable)
        case UInt8(ascii: "@"): return try prefixedWord(.collectionOperator)
        case UInt8(ascii: "#"): return try prefixedWord(.escapedIdentifier)
        case _ where first.startsWord: return word()
        default: return .symbol(try symbol(first))
        }
    }
}

// MARK: - Bytes

extension Lexer {
    /// The byte that many places ahead, or nil past the end.
    func byte(at distance: Int) -> UInt8? {
        offset + distance < bytes.count ? bytes[offset + distance] : nil
    }

    /// The bytes from a place up to here.
    func span(from start: Int) -> SourceSpan { SourceSpan(offset: start, length: offset - start) }

    mutating func advance(by count: Int = 1) { offset += count }

    /// Steps over the byte if it comes next.
    mutating func skip(_ expected: UInt8) -> Bool {
        guard byte(at: 0) == expected else { return false }
        offset += 1
        return true
    }

    private mutating func skipWhiteSpace() {
        while let byte = byte(at: 0), byte == UInt8(ascii: " ") || (0x09...0x0D).contains(byte) { offset += 1 }
    }

    private mutating func skipWord() {
        while let byte = byte(at: 0), byte.continuesWord { offset += 1 }
    }
}

// MARK: - Words

extension Lexer {
    /// An identifier or a reserved word. The two operators with hyphens are read whole.
    private mutating func word() -> Token.Kind {
        let start = offset
        skipWord()
        if uppercased(from: start) == "UTI" {
            let afterUTI = offset
            for suffix in [ReservedWord.typeConformsTo, .typeEquals] {
                offset = min(start + suffix.rawValue.utf8.count, bytes.count)
                let endsThere = byte(at: 0)?.continuesWord != true
                if endsThere, uppercased(from: start) == suffix.rawValue { return .reserved(suffix) }
            }
            offset = afterUTI
        }
        return ReservedWord(rawValue: uppercased(from: start)).map(Token.Kind.reserved) ?? .identifier
    }

    private func uppercased(from start: Int) -> String {
        String(decoding: bytes[start..<offset], as: UTF8.self).uppercased()
    }

    /// `$name`, `@name` and `#word`.
    private mutating func prefixedWord(_ kind: Token.Kind) throws(PredicateError) -> Token.Kind {
        let start = offset
        advance()
        guard let first = byte(at: 0), first.startsWord else {
            throw PredicateError(.unexpectedCharacter, "a name must follow the sign", at: span(from: start))
        }
        skipWord()
        return kind
    }

    /// `%@`, or a conversion of printf: flags, digits, length modifiers, one letter.
    private mutating func percent() throws(PredicateError) -> Token.Kind {
        let start = offset
        advance()
        if skip(UInt8(ascii: "@")) { return .placeholder }
        if skip(UInt8(ascii: "%")) { return .formatSpecifier }
        while let byte = byte(at: 0), "0123456789.+-#".utf8.contains(byte) { offset += 1 }
        while let byte = byte(at: 0), "hlqjztL".utf8.contains(byte) { offset += 1 }
        guard let letter = byte(at: 0), letter.startsWord else {
            throw PredicateError(.unexpectedCharacter, "'@' must follow the '%'", at: span(from: start))
        }
        advance()
        return .formatSpecifier
    }
}

// MARK: - Symbols

extension Lexer {
    private mutating func symbol(_ first: UInt8) throws(PredicateError) -> Symbol {
        let start = offset
        if let second = byte(at: 1), let symbol = Self.pairs[[first, second]] {
            advance(by: 2)
            return symbol
        }
        guard let symbol = Self.singles[first] else { throw unexpectedCharacter(at: start) }
        advance()
        return symbol
    }

    private static let singles: [UInt8: Symbol] = {
        var table: [UInt8: Symbol] = [UInt8(ascii: "="): .equal]
        for symbol in Symbol.allCases where symbol.rawValue.utf8.count == 1 {
            for byte in symbol.rawValue.utf8 { table[byte] = symbol }
        }
        return table
    }()

    private static let pairs: [[UInt8]: Symbol] = {
        var table: [[UInt8]: Symbol] = [:]
        for symbol in Symbol.allCases where symbol.rawValue.utf8.count == 2 {
            table[Array(symbol.rawValue.utf8)] = symbol
        }
        table[Array("=<".utf8)] = .lessOrEqual
        table[Array("=>".utf8)] = .greaterOrEqual
        table[Array("<>".utf8)] = .notEqual
        return table
    }()

    /// The error for a character that begins no token. Typographic quotes get a hint, since they come
    /// out of word processors and chat windows looking almost right.
    private func unexpectedCharacter(at start: Int) -> PredicateError {
        let rest = String(decoding: bytes[start..<min(start + 4, bytes.count)], as: UTF8.self)
        guard let scalar = rest.unicodeScalars.first else {
            return PredicateError(.unexpectedEnd, "the text ends here", at: SourceSpan(offset: start, length: 0))
        }
        let span = SourceSpan(offset: start, length: scalar.utf8.count)
        let name = Printer.isPlain(scalar) ? "'\(scalar)'" : "U+\(String(scalar.value, radix: 16, uppercase: true))"
        let isQuote = "\u{2018}\u{2019}\u{201C}\u{201D}\u{00AB}\u{00BB}".unicodeScalars.contains(scalar)
        let hint = isQuote ? "; quote strings with ' or \"" : ""
        return PredicateError(.unexpectedCharacter, "no token begins with \(name)\(hint)", at: span)
    }
}

extension UInt8 {
    /// Whether an identifier may begin with the byte: ASCII only, as in C.
    var startsWord: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"): true
        default: false
        }
    }

    /// Whether an identifier may go on with the byte.
    var continuesWord: Bool { startsWord || isDigit }

    /// Whether the byte is `0` to `9`.
    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    /// The value of the byte as a digit, of any radix up to 16.
    var digitValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
