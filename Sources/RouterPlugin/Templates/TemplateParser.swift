/// The grammar of `PayloadTemplate` over bytes, a method per rule.
///
/// Invariant: every byte before `position` belongs to a part that has been read.
struct TemplateParser {
    private let text: String
    private let bytes: [UInt8]
    private var position = 0
    private var holes = 0

    init(_ text: String) {
        self.text = text
        bytes = Array(text.utf8)
    }

    mutating func template() throws(TemplateError) -> [TemplatePart] {
        try checkWhole()
        var parts: [TemplatePart] = []
        while position < bytes.count {
            let literal = try literal()
            if !literal.isEmpty { parts.append(.literal(ByteExactText(literal))) }
            if position < bytes.count { parts.append(.hole(try hole())) }
        }
        return parts
    }

    private func checkWhole() throws(TemplateError) {
        if bytes.isEmpty { throw fault(.emptyTemplate, "A template must not be empty.", at: 0..<0) }
        let limit = TemplateLimits.textBytes
        guard bytes.count <= limit else {
            throw fault(.templateTooLong, "A template has at most \(limit) bytes.", at: limit..<bytes.count)
        }
        var offset = 0
        for scalar in text.unicodeScalars {
            let next = offset + UTF8.width(scalar)
            if scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) {
                throw fault(.controlCharacter, "A template must not have control characters.", at: offset..<next)
            }
            offset = next
        }
    }

    /// Everything up to the next hole or the end, with doubled braces as single ones.
    private mutating func literal() throws(TemplateError) -> String {
        var literal: [UInt8] = []
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "}") {
                if position + 1 < bytes.count, bytes[position + 1] == byte {
                    position += 1
                } else if byte == UInt8(ascii: "{") {
                    break
                } else {
                    let message = "This brace closes no hole; a literal brace is written }}."
                    throw fault(.unmatchedBrace, message, at: position..<position + 1)
                }
            }
            literal.append(byte)
            position += 1
        }
        if position < bytes.count { try refuseOpenPercent(in: literal, before: position) }
        return String(decoding: literal, as: UTF8.self)
    }

    /// Refuses `%` and `%2` at the end of a text that stands right before a position: a value could go on from there.
    private func refuseOpenPercent(in text: [UInt8], before end: Int) throws(TemplateError) {
        guard let percent = text.suffix(2).lastIndex(of: UInt8(ascii: "%")),
            text[(percent + 1)...].allSatisfy({ hexDigit($0) != nil })
        else { return }
        let message = "A value must not complete a percent-encoded byte; a literal % is written %25."
        throw fault(.openPercent, message, at: end - (text.count - percent)..<end)
    }

    // MARK: Holes

    private mutating func hole() throws(TemplateError) -> TemplateHole {
        let start = position
        position += 1
        holes += 1
        guard holes <= TemplateLimits.holes else {
            throw fault(.tooManyHoles, "A template has at most \(TemplateLimits.holes) holes.", at: start..<position)
        }
        var hole = TemplateHole(encoding: .segments, paths: [])
        if take("+") { hole.encoding = .reserved }
        if peek == UInt8(ascii: "}") {
            let message = "A hole names a value, such as {issue.number}; a literal brace is written {{."
            throw fault(.emptyHole, message, at: start..<position + 1)
        }
        repeat { try alternative(of: &hole, from: start) } while take("|")
        if take(":") { try encoding(of: &hole, from: start) }
        guard take("}") else {
            let rule = "A path goes on with . or [, a hole with |, :segment or }."
            throw unexpected(in: start, peek ?? 0 < 0x80 ? rule : Self.nameRule)
        }
        return hole
    }

    private mutating func alternative(of hole: inout TemplateHole, from start: Int) throws(TemplateError) {
        guard hole.fallback == nil else {
            throw fault(.defaultNotLast, "Nothing may follow the default of a hole.", at: position - 1..<position)
        }
        guard hole.paths.count < TemplateLimits.alternatives else {
            let message = "A hole has at most \(TemplateLimits.alternatives) alternatives."
            throw fault(.tooManyAlternatives, message, at: position - 1..<position)
        }
        switch peek {
        case UInt8(ascii: "'"):
            let quote = position
            let text = try quoted()
            guard !text.isEmpty else {
                throw fault(.emptyDefault, "A default must not be empty.", at: quote..<position)
            }
            try refuseOpenPercent(in: Array(text.utf8), before: position - 1)
            hole.fallback = ByteExactText(text)
        case UInt8(ascii: "|"), UInt8(ascii: "}"), UInt8(ascii: ":"):
            let message = "An alternative names a value, such as issue.number, or a default, such as 'none'."
            throw fault(.emptyAlternative, message, at: position..<position + 1)
        default: hole.paths.append(try path(in: start))
        }
    }

    private mutating func encoding(of hole: inout TemplateHole, from start: Int) throws(TemplateError) {
        let word = position
        while let byte = peek, TemplatePath.isNameByte(byte) { position += 1 }
        guard position < bytes.count else { throw unexpected(in: start, "") }
        guard bytes[word..<position].elementsEqual("segment".utf8) else {
            let message = "The only word behind : is segment, which encodes slashes too."
            throw fault(.unknownEncoding, message, at: word..<max(position, word + 1))
        }
        guard hole.encoding == .segments else {
            let message = "A hole has either +, which keeps reserved characters, or :segment, which encodes them."
            throw fault(.conflictingEncoding, message, at: word - 1..<position)
        }
        hole.encoding = .segment
    }

    // MARK: Paths

    private mutating func path(in hole: Int) throws(TemplateError) -> TemplatePath {
        let start = position
        var steps: [TemplatePath.Step] = []
        var ends: [Int] = []
        let isNamed = peek != UInt8(ascii: "[")
        if isNamed {
            steps.append(.member(ByteExactText(try name(in: hole))))
            ends.append(position)
        }
        while peek == UInt8(ascii: ".") || peek == UInt8(ascii: "[") {
            guard steps.count < TemplateLimits.pathSteps else {
                let message = "A path has at most \(TemplateLimits.pathSteps) steps."
                throw fault(.pathTooLong, message, at: position..<position + 1)
            }
            if take(".") {
                steps.append(.member(ByteExactText(try name(in: hole))))
            } else {
                steps.append(try bracket(in: hole))
            }
            ends.append(position)
        }
        guard isNamed, case .member(let word)? = steps.first, TemplatePath.reservedNames.contains(word.text) else {
            return TemplatePath(.payload(steps))
        }
        if word.text == "payload" { return TemplatePath(.payload(Array(steps.dropFirst()))) }
        return try reserved(word.text, steps, start: start, ends: ends)
    }

    /// `header.NAME`, `query.NAME`, `attribute.NAME` or `type`.
    private func reserved(
        _ word: String, _ steps: [TemplatePath.Step], start: Int, ends: [Int]
    ) throws(TemplateError) -> TemplatePath {
        let parts = word == "type" ? 1 : 2
        guard steps.count <= parts else {
            let message = "A value of \(word) is a text without members; the payload's is payload.\(word)."
            throw fault(.noMembers, message, at: ends[parts - 1]..<position)
        }
        if word == "type" { return TemplatePath(.type) }
        guard steps.count == 2, case .member(let name) = steps[1] else {
            let message = "A name follows \(word), such as \(word).id; the payload's member is payload.\(word)."
            throw fault(.missingName, message, at: start..<position)
        }
        let lower = ByteExactText(Self.lowercased(name.text))
        let isSecret = word == "header" ? Self.secretHeaders.contains(lower.text) : name.text == "access_token"
        guard word == "attribute" || !isSecret else {
            throw fault(
                .secretName, "This value is a secret, which must not be part of an id.", at: start..<position)
        }
        return switch word {
        case "header": TemplatePath(.header(lower))
        case "query": TemplatePath(.query(name))
        default: TemplatePath(.attribute(lower))
        }
    }

    /// The text with `A` to `Z` in lower case. Names of headers and attributes are ASCII, and the lower case of other
    /// letters may take more bytes: the printed template would be too long to be read.
    private static func lowercased(_ text: String) -> String {
        String(
            decoding: text.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 },
            as: UTF8.self)
    }

    /// Headers that senders present secrets in.
    private static let secretHeaders = ["authorization", "proxy-authorization", "cookie", "x-gitlab-token"]

    private static let nameRule = """
        A name has the letters a to z and A to Z, digits, _, -, $ and @; other names are quoted, as in ['full name'].
        """

    private mutating func name(in hole: Int) throws(TemplateError) -> String {
        let start = position
        while let byte = peek, TemplatePath.isNameByte(byte) { position += 1 }
        if position > start { return String(decoding: bytes[start..<position], as: UTF8.self) }
        switch peek {
        case UInt8(ascii: "."), UInt8(ascii: "["), UInt8(ascii: "|"), UInt8(ascii: "}"), UInt8(ascii: ":"):
            throw fault(.emptyName, "Here a name is missing.", at: position..<position + 1)
        default:
            throw unexpected(in: hole, Self.nameRule)
        }
    }

    private mutating func bracket(in hole: Int) throws(TemplateError) -> TemplatePath.Step {
        let start = position
        position += 1
        if peek == UInt8(ascii: "'") {
            let name = try quoted()
            guard take("]") else { throw unexpected(in: hole, "The brackets close with ].") }
            return .member(ByteExactText(name))
        }
        while let byte = peek, byte != UInt8(ascii: "]"), byte != UInt8(ascii: "}") { position += 1 }
        let word = String(decoding: bytes[start + 1..<position], as: UTF8.self)
        guard position < bytes.count else { throw unexpected(in: hole, "") }
        guard take("]"), word == "LAST" || Self.isIndex(word) else {
            let range = "0 to \(TemplateLimits.elementIndex)"
            let message = "Brackets hold an index from \(range), LAST, or a name in quotes, as in ['full name']."
            throw fault(.invalidIndex, message, at: start..<position)
        }
        return Int(word).map { .element($0) } ?? .last
    }

    /// Digits without leading zeros within the limit.
    private static func isIndex(_ word: String) -> Bool {
        guard let index = Int(word), (0...TemplateLimits.elementIndex).contains(index) else { return false }
        return String(index) == word
    }

    private mutating func quoted() throws(TemplateError) -> String {
        let start = position
        var text: [UInt8] = []
        position += 1
        while let byte = peek {
            position += 1
            if byte == UInt8(ascii: "'"), !take("'") { return String(decoding: text, as: UTF8.self) }
            text.append(byte)
        }
        let message = "This quote is not closed; a quote within a quoted text is written ''."
        throw fault(.unterminatedQuote, message, at: start..<bytes.count)
    }

    // MARK: Bytes

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard let byte = peek, byte == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    // MARK: Faults

    private func fault(_ code: TemplateError.Code, _ message: String, at range: Range<Int>) -> TemplateError {
        TemplateError(code, message, at: range, of: text)
    }

    /// The error for the character at the position, or for the hole if the text ends in it.
    private func unexpected(in hole: Int, _ expected: String) -> TemplateError {
        guard position < bytes.count else {
            let message = "This hole is not closed; a literal brace is written {{."
            return fault(.unterminatedHole, message, at: hole..<bytes.count)
        }
        var end = position + 1
        while end < bytes.count, bytes[end] & 0xC0 == 0x80 { end += 1 }
        return fault(.unexpectedCharacter, "This character cannot stand here. \(expected)", at: position..<end)
    }
}
