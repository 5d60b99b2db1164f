/// The canonical code of one comparison of the subject with a text.
enum LeafCode {
    /// `SELF relation literal`.
    static func literal(
        _ relation: TextTest.Relation, _ literal: [UInt8], _ form: Form, _ isNegated: Bool
    ) -> [UInt8] {
        if relation == .like { return pattern(literal, form, isNegated) }
        return folded(CanonicalCode.Kind(relation), Folding.fold(literal, into: form).bytes, form, isNegated)
    }

    /// `literal relation SELF`: an equality or an order is turned over, the rest stays as it stands.
    static func turned(
        _ relation: TextTest.Relation, _ literal: [UInt8], _ form: Form, _ isNegated: Bool
    ) -> [UInt8] {
        switch relation {
        case .absent, .equal: return self.literal(.equal, literal, form, isNegated)
        case .less: return self.literal(.greater, literal, form, isNegated)
        case .lessOrEqual: return self.literal(.greaterOrEqual, literal, form, isNegated)
        case .greater: return self.literal(.less, literal, form, isNegated)
        case .greaterOrEqual: return self.literal(.lessOrEqual, literal, form, isNegated)
        case .beginsWith, .endsWith, .contains, .like:
            let head = [CanonicalCode.head(.turned, form), CanonicalCode.Kind(relation).rawValue]
            return negated(head + length(literal.count) + literal, isNegated)
        }
    }

    /// `SELF relation SELF`.
    static func mirrored(_ relation: TextTest.Relation, _ form: Form, _ isNegated: Bool) -> [UInt8] {
        switch relation {
        case .absent, .equal: return negated([CanonicalCode.head(.constant)], !isNegated)
        case .less, .greater: return negated([CanonicalCode.head(.constant)], isNegated)
        // Holds for every subject that is there.
        case .lessOrEqual, .greaterOrEqual: return negated([CanonicalCode.head(.absent)], !isNegated)
        case .beginsWith, .endsWith, .contains, .like:
            return negated([CanonicalCode.head(.mirrored, form), CanonicalCode.Kind(relation).rawValue], isNegated)
        }
    }

    private static func folded(
        _ kind: CanonicalCode.Kind, _ bytes: [UInt8], _ form: Form, _ isNegated: Bool
    ) -> [UInt8] {
        switch kind {
        case .beginsWith, .endsWith, .contains:
            // Nothing begins with, ends with or contains the empty text.
            if bytes.isEmpty { return negated([CanonicalCode.head(.constant)], isNegated) }
        default: break
        }
        let form = kind == .equal && form == .canonical && bytes.allSatisfy(isOnlyItself) ? .exact : form
        var code: [UInt8] = []
        code.reserveCapacity(3 + bytes.count)
        code.append(CanonicalCode.head(kind, form) | (isNegated ? CanonicalCode.negated : 0))
        code.append(UInt8(truncatingIfNeeded: bytes.count))
        code.append(UInt8(truncatingIfNeeded: bytes.count >> 8))
        code.append(contentsOf: bytes)
        return code
    }

    /// Whether the byte is ASCII that no other scalar decomposes into. The exceptions are KELVIN SIGN, GREEK QUESTION
    /// MARK and GREEK VARIA: a text of all others that is equal after decomposition is equal as given.
    static func isOnlyItself(_ byte: UInt8) -> Bool {
        byte < 0x80 && byte != UInt8(ascii: "K") && byte != UInt8(ascii: ";") && byte != UInt8(ascii: "`")
    }

    /// A pattern without wildcards is an equality.
    private static func pattern(_ pattern: [UInt8], _ form: Form, _ isNegated: Bool) -> [UInt8] {
        let pieces = Glob(pattern, form: form).pieces
        switch (pieces.count, pieces.first) {
        case (0, _): return folded(.equal, [], form, isNegated)
        case (1, .literal(let text)): return folded(.equal, text.bytes, form, isNegated)
        default: break
        }
        var body: [UInt8] = []
        for piece in pieces {
            switch piece {
            case .one: body.append(CanonicalCode.Piece.one.rawValue)
            case .many: body.append(CanonicalCode.Piece.many.rawValue)
            case .literal(let text):
                body.append(CanonicalCode.Piece.literal.rawValue)
                body += length(text.bytes.count) + text.bytes
            }
        }
        return negated([CanonicalCode.head(.like, form)] + length(body.count) + body, isNegated)
    }

    private static func negated(_ code: [UInt8], _ isNegated: Bool) -> [UInt8] {
        guard isNegated else { return code }
        var code = code
        code[0] ^= CanonicalCode.negated
        return code
    }

    private static func length(_ count: Int) -> [UInt8] {
        [UInt8(truncatingIfNeeded: count), UInt8(truncatingIfNeeded: count >> 8)]
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

    /// The relation that a turned or mirrored leaf names.
    var relation: TextTest.Relation {
        switch self {
        case .beginsWith: .beginsWith
        case .endsWith: .endsWith
        case .contains: .contains
        default: .like
        }
    }
}
