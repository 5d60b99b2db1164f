extension CanonicalCode {
    /// Whether a code holds for a subject that is there. Goes no deeper than a predicate may nest.
    static func holds(_ code: UnsafePointer<UInt8>, for subject: PreparedSubject) -> Bool {
        let head = code[0]
        let isNegated = head & negated != 0
        let view = subject.view(form(head))
        let result =
            switch kind(head) {
            case .constant, .absent: false
            case .equal: view.equals(code + 3, short(code + 1))
            case .beginsWith: view.hasPrefix(code + 3, short(code + 1))
            case .endsWith: view.hasSuffix(code + 3, short(code + 1))
            case .contains: view.contains(code + 3, short(code + 1))
            case .like:
                subject.isPlain
                    ? view.isPlainLike(code + 3, short(code + 1)) : view.isLike(code + 3, short(code + 1))
            case .less: view.order(code + 3, short(code + 1)) < 0
            case .lessOrEqual: view.order(code + 3, short(code + 1)) <= 0
            case .greater: view.order(code + 3, short(code + 1)) > 0
            case .greaterOrEqual: view.order(code + 3, short(code + 1)) >= 0
            case .and: !hasTerm(code, that: false, subject)
            case .or: hasTerm(code, that: true, subject)
            case .turned: holdsTurned(code, subject)
            case .mirrored: holdsMirrored(code, subject)
            }
        return result != isNegated
    }

    /// Whether a list has a term with the value.
    private static func hasTerm(
        _ list: UnsafePointer<UInt8>, that value: Bool, _ subject: PreparedSubject
    ) -> Bool {
        var term = list + listHeader
        let end = term + long(list + 3)
        while term < end {
            if holds(term, for: subject) == value { return true }
            term += size(term)
        }
        return false
    }

    /// A comparison in which the subject stands on the right: it is looked for in the literal, where both are.
    private static func holdsTurned(_ code: UnsafePointer<UInt8>, _ subject: PreparedSubject) -> Bool {
        let (count, bytes) = (short(code + 2), code + 4)
        let literal = TextView(bytes: bytes, count: count, seams: code[1] & seamed == 0 ? nil : bytes + count)
        let view = subject.view(form(code[0]))
        switch kind(code[1] & ~seamed) {
        case .like: return isLike(literal, subject, form(code[0]))
        // Nothing begins with, ends with or contains the empty text.
        case _ where view.count == 0: return false
        case .beginsWith: return literal.hasPrefix(view.bytes, view.count)
        case .endsWith: return literal.hasSuffix(view.bytes, view.count)
        default: return literal.contains(view.bytes, view.count)
        }
    }

    /// The subject beside itself. It begins with, ends with and contains itself, unless nothing is left of it.
    private static func holdsMirrored(_ code: UnsafePointer<UInt8>, _ subject: PreparedSubject) -> Bool {
        let view = subject.view(form(code[0]))
        return kind(code[1]) == .like ? isLike(view, subject, form(code[0])) : view.count > 0
    }

    /// Whether a text matches the subject, taken as a pattern. As such it may be no longer than a literal.
    ///
    /// The pattern is read in its folded form: no other scalar becomes a star, a question mark or a backslash, and all three
    /// are starters, so no mark moves across them. A form without marks alone does not show where literals of nothing
    /// but marks stood, and such literals keep wildcards from taking one letter apart. Then, if the subject is not ASCII,
    /// the pattern is made anew, on the heap.
    private static func isLike(_ text: TextView, _ subject: PreparedSubject, _ form: Form) -> Bool {
        guard subject.given.count <= PredicateLimits.literalBytes else { return false }
        if subject.isASCII || !form.isStripped { return text.isLike(pattern: subject.view(form)) }
        let pattern = Array(UnsafeBufferPointer(start: subject.given.bytes, count: subject.given.count))
        return Glob(pattern, form: form).matches(FoldedText(text))
    }
}

extension FoldedText {
    /// A copy of the text.
    fileprivate init(_ view: TextView) {
        let bytes = Array(UnsafeBufferPointer(start: view.bytes, count: view.count))
        let seams = view.seams.map { Array(UnsafeBufferPointer(start: $0, count: view.count)) }
        self.init(bytes: bytes, seams: seams ?? [])
    }
}
