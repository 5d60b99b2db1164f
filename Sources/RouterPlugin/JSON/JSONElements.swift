/// The places of an array's elements, for readers that keep each element byte for byte.
public enum JSONElements: Sendable {
    /// The bytes of each element, in order; nil if the document is no array.
    ///
    /// The whole document is checked in one pass, strictly as `JSONValue(parsing:)` does, and no tree is made.
    ///
    /// - Throws: the first fault with its place.
    public static func ranges(
        in bytes: [UInt8], limits: JSONLimits = .ingest
    ) throws(JSONError) -> [Range<Int>]? {
        let end = try JSONScanner<JSONElementVisitor>.run(over: bytes, limits: limits, visitor: JSONElementVisitor())
        return end.isArray ? end.ranges : nil
    }
}

/// Notes where values right below the root begin and end.
struct JSONElementVisitor: JSONVisitor {
    private(set) var ranges: [Range<Int>] = []
    private(set) var isArray = false
    private var depth = 0
    private var start = 0

    mutating func literal(_ value: JSONValue, at offset: Int) {
        found(offset..<offset + (value == .bool(false) ? 5 : 4))
    }

    mutating func number(_ range: Range<Int>, in bytes: UnsafeBufferPointer<UInt8>) { found(range) }

    mutating func string(_ text: JSONText, in bytes: UnsafeBufferPointer<UInt8>) {
        found(text.start - 1..<text.end + 1)
    }

    mutating func key(_ text: JSONText, in bytes: UnsafeBufferPointer<UInt8>) {}

    mutating func begin(_ container: JSONContainer, at offset: Int) {
        if depth == 0 { isArray = container == .array }
        if depth == 1 { start = offset }
        depth += 1
    }

    mutating func end(_ container: JSONContainer, at offset: Int) {
        depth -= 1
        found(start..<offset)
    }

    private mutating func found(_ range: Range<Int>) {
        if depth == 1, isArray { ranges.append(range) }
    }
}
