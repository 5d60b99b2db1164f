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
            case .turned, .mirrored: holdsTurned(code, subject)
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

    /// A comparison in which the subject stands on the right. Nobody writes them, so they are made anew each time.
    private static func holdsTurned(_ code: UnsafePointer<UInt8>, _ subject: PreparedSubject) -> Bool {
        let (form, relation) = (form(code[0]), kind(code[1]).relation)
        let given = subject.given
        var whole = Subject(
            String(decoding: UnsafeBufferPointer(start: given.bytes, count: given.count), as: UTF8.self))
        let left: TextTest.Side
        if kind(code[0]) == .mirrored {
            left = .subject
        } else {
            let literal = Array(UnsafeBufferPointer(start: code + 4, count: short(code + 2)))
            left = .literal(Folding.fold(literal, into: form))
        }
        return TextTest(relation: relation, form: form, left: left, right: .subject).holds(for: &whole)
    }
}
