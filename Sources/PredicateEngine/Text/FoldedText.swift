/// In which form two texts are compared.
enum Form: Int, Hashable, Sendable {
    /// The bytes as given: `==`, order, and everything under `[n]`.
    case exact
    /// Decomposed, so that canonically equivalent texts are the same: substring operators without options.
    case canonical
    /// Decomposed and case-folded: `[c]`.
    case caseFolded
    /// Decomposed, without diacritics: `[d]`.
    case stripped
    /// Decomposed, without diacritics, case-folded: `[cd]`.
    case strippedAndCaseFolded

    static let count = 5

    var isStripped: Bool { self == .stripped || self == .strippedAndCaseFolded }
    var isCaseFolded: Bool { self == .caseFolded || self == .strippedAndCaseFolded }
}

/// Text in one `Form`, as UTF-8, and where it may not be cut.
///
///     given    C  a  f  é           ß
///     bytes    c  a  f  e  CC 81    s  s       form .caseFolded
///     seams    .  .  .  .  B  .     .  J
///
/// A seam is a place before a scalar where a match must neither begin nor end: `J`, because the scalar comes of
/// the same given scalar as the one before it; `E`, because it extends the one before it (a combining mark); `B`,
/// both. `seams` is empty when there are none, as in all ASCII text; else it has one entry per byte.
struct FoldedText: Hashable, Sendable {
    let bytes: [UInt8]
    private(set) var seams: [UInt8] = []

    /// ASCII text, or text that is to be compared as given.
    init(unseamed bytes: [UInt8]) { self.bytes = bytes }

    /// Text whose seams are known: none, or one for each byte.
    init(bytes: [UInt8], seams: [UInt8]) {
        self.bytes = bytes
        self.seams = seams
    }

    /// The seam before a scalar of the same given scalar as the one before it.
    static let joined: UInt8 = 1
    /// The seam before a scalar that extends the one before it.
    static let extending: UInt8 = 2

    /// Whether a match may begin or end before the byte. The ends of the text are always places to cut.
    func canCut(at offset: Int) -> Bool {
        seams.isEmpty || offset == 0 || offset == bytes.count || seams[offset] == 0
    }

    /// The end of the unit that begins at `offset`: one scalar of the text as given, whatever became of it.
    func unitEnd(after offset: Int) -> Int {
        var end = offset + 1
        while end < bytes.count, bytes[end] & 0xC0 == 0x80 || (!seams.isEmpty && seams[end] & Self.joined != 0) {
            end += 1
        }
        return end
    }

    /// A copy of a text that is lent.
    init(_ view: TextView) {
        bytes = Array(UnsafeBufferPointer(start: view.bytes, count: view.count))
        if let marks = view.seams { seams = Array(UnsafeBufferPointer(start: marks, count: view.count)) }
    }

    /// Lends a view of the text.
    func withView<Result>(_ body: (TextView) -> Result) -> Result {
        bytes.withUnsafeBufferPointer { bytes in
            seams.withUnsafeBufferPointer { seams in
                guard let start = bytes.baseAddress, !bytes.isEmpty else { return body(.empty) }
                return body(
                    TextView(bytes: start, count: bytes.count, seams: seams.isEmpty ? nil : seams.baseAddress))
            }
        }
    }
}
