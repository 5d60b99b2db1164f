extension CanonicalCode {
    /// Whether a code holds for a subject that is not absent. Goes no deeper than a predicate may nest.
    ///
    /// Adds the steps to `work`: bytes of the subject that are compared or passed over, or an upper bound of their
    /// number.
    static func holds(_ code: UnsafePointer<UInt8>, for subject: PreparedSubject, _ work: inout Int) -> Bool {
        let head = code[0]
        let isNegated = head & negated != 0
        let result =
            switch kind(head) {
            case .constant, .absent: false
            case .and: !hasTerm(code, that: false, subject, &work)
            case .or: hasTerm(code, that: true, subject, &work)
            case .turned: holdsTurned(code, subject, &work)
            case .mirrored: holdsMirrored(code, subject, &work)
            default: compares(code, subject, &work)
            }
        return result != isNegated
    }

    /// Whether a relation of the subject with a literal or a pattern holds.
    @inline(__always)
    private static func compares(
        _ code: UnsafePointer<UInt8>, _ subject: PreparedSubject, _ work: inout Int
    ) -> Bool {
        let (view, literal, length) = (subject.view(form(code[0])), code + 3, short(code + 1))
        switch kind(code[0]) {
        case .contains:
            return view.find(literal, length, from: 0, subject.occurrences(form(code[0]), view.count, &work), &work)
                != nil
        case .like:
            let occurrences = subject.occurrences(form(code[0]), view.count, &work)
            return subject.isPlain
                ? view.isPlainLike(literal, length, occurrences, &work)
                : view.isLike(literal, length, occurrences, &work)
        default: break
        }
        work &+= min(length, view.count)
        return switch kind(code[0]) {
        case .equal: view.equals(literal, length)
        case .beginsWith: view.hasPrefix(literal, length)
        case .endsWith: view.hasSuffix(literal, length)
        case .less: view.order(literal, length) < 0
        case .lessOrEqual: view.order(literal, length) <= 0
        case .greater: view.order(literal, length) > 0
        default: view.order(literal, length) >= 0
        }
    }

    /// Whether a list has a term with the value.
    private static func hasTerm(
        _ list: UnsafePointer<UInt8>, that value: Bool, _ subject: PreparedSubject, _ work: inout Int
    ) -> Bool {
        var term = list + listHeader
        let end = term + long(list + 3)
        while term < end {
            if holds(term, for: subject, &work) == value { return true }
            term += size(term)
        }
        return false
    }

    /// A comparison in which the subject stands on the right: it is looked for in the literal, where both are.
    private static func holdsTurned(
        _ code: UnsafePointer<UInt8>, _ subject: PreparedSubject, _ work: inout Int
    ) -> Bool {
        let (count, bytes) = (short(code + 2), code + 4)
        let literal = TextView(bytes: bytes, count: count, seams: code[1] & seamed == 0 ? nil : bytes + count)
        let view = subject.view(form(code[0]))
        switch kind(code[1] & ~seamed) {
        case .like: return isLike(literal, subject, form(code[0]), &work)
        // No text begins with, ends with or contains the empty text.
        case _ where view.count == 0: return false
        case .beginsWith: return literal.hasPrefix(view.bytes, view.count)
        case .endsWith: return literal.hasSuffix(view.bytes, view.count)
        default: return literal.contains(view.bytes, view.count, &work)
        }
    }

    /// The subject compared with itself. It begins with, ends with and contains itself, unless nothing is left of it.
    private static func holdsMirrored(
        _ code: UnsafePointer<UInt8>, _ subject: PreparedSubject, _ work: inout Int
    ) -> Bool {
        let view = subject.view(form(code[0]))
        return kind(code[1]) == .like ? isLike(view, subject, form(code[0]), &work) : view.count > 0
    }

    /// Whether a text matches the subject, taken as a pattern. As such it may be no longer than a literal.
    ///
    /// The pattern is read in its folded form: no other scalar becomes a star, a question mark or a backslash, and all
    /// three are starters, so no mark moves across them. A form without marks alone does not show where literals of
    /// nothing but marks stood, and such literals keep wildcards from taking one letter apart. Then, if the subject is
    /// not ASCII, it is read as given, once for all that ask.
    private static func isLike(
        _ text: TextView, _ subject: PreparedSubject, _ form: Form, _ work: inout Int
    ) -> Bool {
        guard subject.given.count <= PredicateLimits.literalBytes else { return false }
        if subject.isASCII || !form.isStripped { return text.isLike(pattern: subject.view(form), &work) }
        guard let pattern = subject.pattern(form, &work) else { return false }
        return BitParallelLike(elements: pattern.makeIterator()).match(text, from: 0, isFixed: true, &work)
    }
}
