/// The grammar of RFC 8259 over bytes, a method per rule.
///
/// The scanner builds nothing: it reports each value to a visitor. Nesting is kept in `parents`, not on the call stack,
/// so no document can overflow it.
///
///     { "a": [ 1, 2 …        parents  [ document, object ]      frame  array
///
/// Invariant: `position` is at most the number of bytes, and every byte before it has been checked.
struct JSONScanner<Visitor: JSONVisitor> {
    /// An open array or object; nil is the document around it all.
    struct Frame {
        let container: JSONContainer?
        /// The number of members or elements that have begun.
        var count = 0
        /// The start of the run of its keys in the ledger.
        let firstKey: Int
    }

    let bytes: UnsafeBufferPointer<UInt8>
    let limits: JSONLimits
    var position = 0
    var visitor: Visitor
    private var frame = Frame(container: nil, firstKey: 0)
    private var parents: [Frame] = []
    private var ledger = JSONKeyLedger()

    private init(bytes: UnsafeBufferPointer<UInt8>, limits: JSONLimits, visitor: Visitor) {
        self.bytes = bytes
        self.limits = limits
        self.visitor = visitor
    }

    /// Reads a whole document and returns what the visitor has made of it.
    static func run(over bytes: [UInt8], limits: JSONLimits, visitor: Visitor) throws(JSONError) -> Visitor {
        try bytes.withUnsafeBufferPointer { (buffer) throws(JSONError) -> Visitor in
            var scanner = JSONScanner(bytes: buffer, limits: limits, visitor: visitor)
            try scanner.document()
            return scanner.visitor
        }
    }

    // MARK: Structure

    private mutating func document() throws(JSONError) {
        guard bytes.count <= limits.maximumBytes else { throw fault(.tooLong, at: limits.maximumBytes) }
        try refuseOtherEncodings()
        skipWhitespace()
        try value()
        while let container = frame.container { try next(in: container) }
        skipWhitespace()
        guard position == bytes.count else { throw fault(.trailingBytes, at: position) }
    }

    /// A mark or a zero among the first two bytes cannot begin JSON in UTF-8, but does begin it in other encodings.
    private mutating func refuseOtherEncodings() throws(JSONError) {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { throw fault(.byteOrderMark, at: 0) }
        if bytes.starts(with: [0xFE, 0xFF]) || bytes.starts(with: [0xFF, 0xFE]) { throw fault(.otherEncoding, at: 0) }
        if bytes.count > 1, bytes[0] == 0 || bytes[1] == 0 { throw fault(.otherEncoding, at: 0) }
    }

    /// The next member or element of the innermost container, or its end.
    private mutating func next(in container: JSONContainer) throws(JSONError) {
        skipWhitespace()
        if try current() == container.closing { return close(container) }
        if frame.count > 0 {
            guard bytes[position] == UInt8(ascii: ",") else { throw fault(.unexpectedByte, at: position) }
            let comma = position
            position += 1
            skipWhitespace()
            guard try current() != container.closing else { throw fault(.trailingComma, at: comma) }
        }
        if container == .object { try key() }
        frame.count += 1
        try value()
    }

    private mutating func key() throws(JSONError) {
        guard bytes[position] == UInt8(ascii: "\"") else { throw fault(.unexpectedByte, at: position) }
        let start = position
        let text = try text()
        guard ledger.insert(text, first: frame.firstKey, in: bytes) else { throw fault(.duplicateKey, at: start) }
        visitor.key(text, in: bytes)
        skipWhitespace()
        guard try current() == UInt8(ascii: ":") else { throw fault(.unexpectedByte, at: position) }
        position += 1
        skipWhitespace()
    }

    private mutating func value() throws(JSONError) {
        switch try current() {
        case UInt8(ascii: "\""): visitor.string(try text(), in: bytes)
        case UInt8(ascii: "{"): try open(.object)
        case UInt8(ascii: "["): try open(.array)
        case UInt8(ascii: "t"): try literal("true", .bool(true))
        case UInt8(ascii: "f"): try literal("false", .bool(false))
        case UInt8(ascii: "n"): try literal("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): visitor.number(try number(), in: bytes)
        default: throw fault(.unexpectedByte, at: position)
        }
    }

    private mutating func open(_ container: JSONContainer) throws(JSONError) {
        guard parents.count < limits.maximumDepth else { throw fault(.tooDeep, at: position) }
        visitor.begin(container, at: position)
        position += 1
        parents.append(frame)
        frame = Frame(container: container, firstKey: ledger.count)
    }

    private mutating func close(_ container: JSONContainer) {
        position += 1
        ledger.close(first: frame.firstKey)
        frame = parents.removeLast()
        visitor.end(container, at: position)
    }

    private mutating func literal(_ word: StaticString, _ value: JSONValue) throws(JSONError) {
        let start = position
        for index in 0..<word.utf8CodeUnitCount {
            guard try current() == word.utf8Start[index] else { throw fault(.unexpectedByte, at: position) }
            position += 1
        }
        visitor.literal(value, at: start)
    }

    // MARK: Bytes

    // Methods that run for every byte are `mutating` even where they change nothing: the compiler gives a method that
    // is not a copy of the whole scanner, which took a fifth of the time.

    /// The byte at the position; there must be one.
    mutating func current() throws(JSONError) -> UInt8 {
        guard position < bytes.count else { throw fault(.unexpectedEnd, at: bytes.count) }
        return bytes[position]
    }

    mutating func skipWhitespace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    // MARK: Faults

    /// The error for a fault, with the pointer to the value that is being read.
    @inline(never)
    func fault(_ fault: JSONFault, at offset: Int) -> JSONError {
        JSONError(fault, offset: offset, pointer: pointer())
    }

    /// RFC 6901, from the last key or index of every open container; nil if longer than is useful.
    private func pointer() -> String? {
        var pointer = ""
        let frames = parents + [frame]
        for (level, frame) in frames.enumerated() {
            let end = level + 1 < frames.count ? frames[level + 1].firstKey : ledger.count
            switch frame.container {
            case .object? where end > frame.firstKey:
                let key = ledger[end - 1].decoded(in: bytes)
                guard key.utf8.count < 256 else { return nil }
                pointer += "/" + escapedForPointer(key)
            case .array? where frame.count > 0: pointer += "/\(frame.count - 1)"
            default: break
            }
        }
        return pointer.utf8.count < 1024 ? pointer : nil
    }
}

/// The text as a component of a pointer: `~` as `~0` and `/` as `~1`.
package func escapedForPointer(_ text: String) -> String {
    String(text.unicodeScalars.map { $0 == "~" ? "~0" : $0 == "/" ? "~1" : String($0) }.joined())
}
