/// Checks a whole document strictly and finds the strings at a few places, in one pass and without a tree.
///
/// It takes and refuses exactly what `JSONValue(parsing:)` does. A lookup is immutable and may be shared.
public struct JSONLookup: Sendable {
    /// The value at a place.
    public enum Finding: Hashable, Sendable {
        /// The place does not exist.
        case absent
        /// A string, without its escapes; the offset is that of its first byte within the quotes.
        case string(String, offset: Int)
        /// Something else, which begins at that byte.
        case notAString(JSONKind, offset: Int)
    }

    /// The result of a lookup.
    public struct Answer: Hashable, Sendable {
        /// The kind of value that the document is.
        public let root: JSONKind
        /// The value at each place, in the order in which the lookup was given them.
        public let findings: [Finding]
    }

    /// The greatest number of places that can be looked up at once.
    public static let maximumPaths = 64

    private let paths: [[[UInt8]]]

    /// A lookup of these places; each is the list of keys that leads there from the root. Arrays are not entered.
    ///
    /// More than `maximumPaths` places are a programmer's error.
    public init(_ paths: [[String]]) {
        precondition(paths.count <= Self.maximumPaths, "A lookup has \(paths.count) places, at most 64 are allowed.")
        self.paths = paths.map { $0.map { Array($0.utf8) } }
    }

    /// Reads a document.
    ///
    /// - Throws: the first fault with its place.
    public func search(_ bytes: [UInt8], limits: JSONLimits = .ingest) throws(JSONError) -> Answer {
        let visitor = JSONLookupVisitor(paths: paths)
        let end = try JSONScanner<JSONLookupVisitor>.run(over: bytes, limits: limits, visitor: visitor)
        return Answer(root: end.root, findings: end.findings)
    }
}

/// Follows the paths while the scanner reads.
///
/// A set of paths is a word of bits. `open` holds for each open container the paths that lead into it, `pending` the
/// paths whose next key is the one just read:
///
///     paths   0: a        { "a": 1, "aps": { "a": …       open     [ 011, 010 ]
///             1: aps a                                    pending  010, and path 1 has no key left: found
struct JSONLookupVisitor: JSONVisitor {
    private let paths: [[[UInt8]]]
    private(set) var findings: [JSONLookup.Finding]
    private(set) var root = JSONKind.null
    private var open: [UInt64] = []
    private var pending: UInt64

    init(paths: [[[UInt8]]]) {
        self.paths = paths
        self.findings = Array(repeating: .absent, count: paths.count)
        self.pending = paths.count == 64 ? .max : 1 << UInt64(paths.count) - 1
    }

    mutating func literal(_ value: JSONValue, at offset: Int) { found(value.kind, at: offset) }

    mutating func number(_ range: Range<Int>, in bytes: UnsafeBufferPointer<UInt8>) {
        found(.number, at: range.lowerBound)
    }

    mutating func string(_ text: JSONText, in bytes: UnsafeBufferPointer<UInt8>) {
        if open.isEmpty { root = .string }
        guard pending != 0 else { return }
        for path in ended { findings[path] = .string(text.decoded(in: bytes), offset: text.start) }
    }

    mutating func key(_ text: JSONText, in bytes: UnsafeBufferPointer<UInt8>) {
        pending = 0
        let depth = open.count - 1
        let candidates = open[depth]
        guard candidates != 0 else { return }
        for path in paths.indices where candidates & 1 << UInt64(path) != 0 && depth < paths[path].count {
            if text.equals(paths[path][depth], in: bytes) { pending |= 1 << UInt64(path) }
        }
    }

    mutating func begin(_ container: JSONContainer, at offset: Int) {
        found(container == .object ? .object : .array, at: offset)
        open.append(pending)
        pending = 0
    }

    mutating func end(_ container: JSONContainer, at offset: Int) {
        open.removeLast()
    }

    private mutating func found(_ kind: JSONKind, at offset: Int) {
        if open.isEmpty { root = kind }
        guard pending != 0 else { return }
        for path in ended { findings[path] = .notAString(kind, offset: offset) }
    }

    /// The paths that lead to the value that comes now.
    private var ended: [Int] {
        paths.indices.filter { pending & 1 << UInt64($0) != 0 && paths[$0].count == open.count }
    }
}
