/// One comparison of the subject with a text.
extension Canonicalizer {
    mutating func head(_ kind: CanonicalCode.Kind, _ form: Form, _ isNegated: Bool) {
        code.append(CanonicalCode.head(kind, form) | (isNegated ? CanonicalCode.negated : 0))
    }

    /// `SELF relation literal`.
    mutating func literal(_ relation: TextTest.Relation, _ literal: [UInt8], _ form: Form, _ isNegated: Bool) {
        if relation == .like { return pattern(literal, form, isNegated) }
        folded(CanonicalCode.Kind(relation), literal, form, isNegated)
    }

    /// `literal relation SELF`: an equality or an order is turned over, the rest stays as it stands.
    mutating func turned(_ relation: TextTest.Relation, _ literal: [UInt8], _ form: Form, _ isNegated: Bool) {
        switch relation {
        case .absent, .equal: self.literal(.equal, literal, form, isNegated)
        case .less: self.literal(.greater, literal, form, isNegated)
        case .lessOrEqual: self.literal(.greaterOrEqual, literal, form, isNegated)
        case .greater: self.literal(.less, literal, form, isNegated)
        case .greaterOrEqual: self.literal(.lessOrEqual, literal, form, isNegated)
        case .beginsWith, .endsWith, .contains, .like:
            let text = Folding.fold(literal, into: form)
            head(.turned, form, isNegated)
            code.append(CanonicalCode.Kind(relation).rawValue | (text.seams.isEmpty ? 0 : CanonicalCode.seamed))
            withLength { $0.code += text.bytes }
            code += text.seams
        }
    }

    /// `SELF relation SELF`.
    mutating func mirrored(_ relation: TextTest.Relation, _ form: Form, _ isNegated: Bool) {
        switch relation {
        case .absent, .equal: write(!isNegated)
        case .less, .greater: write(isNegated)
        // Holds for every subject that is not absent.
        case .lessOrEqual, .greaterOrEqual: head(.absent, .exact, !isNegated)
        case .beginsWith, .endsWith, .contains, .like:
            head(.mirrored, form, isNegated)
            code.append(CanonicalCode.Kind(relation).rawValue)
        }
    }

    private mutating func folded(
        _ kind: CanonicalCode.Kind, _ literal: [UInt8], _ form: Form, _ isNegated: Bool
    ) {
        let start = code.count
        head(kind, form, isNegated)
        withLength { Folding.append(literal, in: form, to: &$0.code) }
        let bytes = code[(start + 3)...]
        switch kind {
        case .beginsWith, .endsWith, .contains:
            // No text begins with, ends with or contains the empty text.
            guard bytes.isEmpty else { return }
            code.removeSubrange(start...)
            write(isNegated)
        case .equal:
            // A text that is equal after decomposition only if it is equal as given is compared as given.
            guard form == .canonical, bytes.allSatisfy(Self.isOnlyItself) else { return }
            code[start] = CanonicalCode.head(kind) | code[start] & CanonicalCode.negated
        default: break
        }
    }

    /// Whether the byte is ASCII that no other scalar decomposes into. The exceptions are KELVIN SIGN, GREEK QUESTION
    /// MARK and GREEK VARIA: a text of all others that is equal after decomposition is equal as given.
    static func isOnlyItself(_ byte: UInt8) -> Bool {
        byte < 0x80 && byte != UInt8(ascii: "K") && byte != UInt8(ascii: ";") && byte != UInt8(ascii: "`")
    }

    /// A pattern without wildcards is an equality.
    private mutating func pattern(_ pattern: [UInt8], _ form: Form, _ isNegated: Bool) {
        let start = code.count
        head(.like, form, isNegated)
        var (count, hasWildcard, literal): (Int, Bool, [UInt8]) = (0, false, [])
        swap(&literal, &self.literal)
        withLength { canonicalizer in
            Glob.read(pattern, &literal) { part, literal in
                count += 1
                hasWildcard = hasWildcard || part != .literal
                canonicalizer.piece(part, literal, form)
            }
        }
        swap(&literal, &self.literal)
        guard !hasWildcard else { return }
        // The heads of the leaf and of its only piece come before the literal.
        let text = count == 0 ? [] : Array(code[(start + 6)...])
        code.removeSubrange(start...)
        folded(.equal, text, form, isNegated)
    }

    private mutating func piece(_ part: Glob.Part, _ literal: [UInt8], _ form: Form) {
        switch part {
        case .one: code.append(CanonicalCode.Piece.one.rawValue)
        case .many: code.append(CanonicalCode.Piece.many.rawValue)
        case .literal:
            code.append(CanonicalCode.Piece.literal.rawValue)
            withLength { Folding.append(literal, in: form, to: &$0.code) }
        }
    }

    /// Writes a length and then the bytes that it counts.
    private mutating func withLength(_ write: (inout Canonicalizer) -> Void) {
        let place = code.count
        code.append(0)
        code.append(0)
        write(&self)
        set(code.count - place - 2, at: place, bytes: 2)
    }
}

extension CanonicalCode.Kind {
    init(_ relation: TextTest.Relation) {
        switch relation {
        case .absent: self = .absent
        case .equal: self = .equal
        case .less: self = .less
        case .lessOrEqual: self = .lessOrEqual
        case .greater: self = .greater
        case .greaterOrEqual: self = .greaterOrEqual
        case .beginsWith: self = .beginsWith
        case .endsWith: self = .endsWith
        case .contains: self = .contains
        case .like: self = .like
        }
    }
}
