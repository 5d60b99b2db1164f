/// The string that predicates are evaluated for, with the forms in which they compare it.
///
/// A form is made when the first program needs it and kept, so that one subject over many programs is folded at
/// most once per form. Text in ASCII has two forms only, as given and in lower case.
public struct Subject: Sendable {
    /// The text as given; empty when there is none.
    private let exact: FoldedText
    /// By `Form`; allocated when the first of them is made.
    private var folded: [FoldedText?] = []
    /// The text as a pattern, for predicates that say `LIKE SELF`; by `Form`.
    private var globs: [Glob?] = []
    private let isASCII: Bool

    /// Whether there is no text: the subject equals `NULL`.
    let isAbsent: Bool

    /// Makes a subject of a text; `nil` is the absent subject.
    public init(_ text: String?) {
        let bytes = Array((text ?? "").utf8)
        exact = FoldedText(unseamed: bytes)
        isASCII = bytes.allSatisfy { $0 < 0x80 }
        isAbsent = text == nil
    }

    /// The text in a form.
    mutating func text(in form: Form) -> FoldedText {
        let form = isASCII ? Self.asciiForm(form) : form
        if form == .exact { return exact }
        if folded.isEmpty { folded = Array(repeating: nil, count: Form.count) }
        if let text = folded[form.rawValue] { return text }
        let text = Folding.fold(exact.bytes, into: form)
        folded[form.rawValue] = text
        return text
    }

    /// The text as a pattern; nil if it is longer than a literal may be. A pattern costs its length times the text's,
    /// and without a bound `SELF LIKE SELF` would cost the square of the subject's length.
    mutating func glob(in form: Form) -> Glob? {
        guard exact.bytes.count <= PredicateLimits.literalBytes else { return nil }
        if globs.isEmpty { globs = Array(repeating: nil, count: Form.count) }
        if let glob = globs[form.rawValue] { return glob }
        let glob = Glob(exact.bytes, form: form)
        globs[form.rawValue] = glob
        return glob
    }

    /// Nothing in ASCII decomposes or carries a mark, so there is only case to fold.
    private static func asciiForm(_ form: Form) -> Form { form.isCaseFolded ? .caseFolded : .exact }
}
