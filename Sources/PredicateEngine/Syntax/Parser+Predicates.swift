// MARK: - Rules for predicates

extension Parser {
    /// `predicate = or ;` and then the end of the text.
    mutating func predicate() throws(PredicateError) -> Predicate.Tree {
        if token.kind == .end { throw PredicateError(.emptyPredicate, "the predicate is empty", at: token.span) }
        let tree = try requirePredicate(try or())
        guard token.kind == .end else { throw unexpected("AND, OR or the end of the predicate") }
        try conclude()
        return tree
    }

    /// `or = and { ( "OR" | "||" ) and } ;`
    mutating func or() throws(PredicateError) -> Term {
        var chains: [SourceSpan] = []
        let first = try and(chains: &chains)
        guard atOr else { return first }
        var terms = flattenedOr(try requirePredicate(first))
        var span = first.span
        while atOr {
            try take()
            let next = try and(chains: &chains)
            terms += flattenedOr(try requirePredicate(next))
            span = span.joined(with: next.span)
        }
        try count(1, at: span)
        for chain in chains {
            warn(.mixedConnectives, "AND binds tighter than OR; parentheses would say so", at: chain)
        }
        return Term(kind: .predicate(.or(terms)), span: span)
    }

    /// `and = not { ( "AND" | "&&" ) not } ;` and notes the spans of chains that no parentheses set apart.
    private mutating func and(chains: inout [SourceSpan]) throws(PredicateError) -> Term {
        let first = try not()
        guard atAnd else { return first }
        var terms = flattenedAnd(try requirePredicate(first))
        var span = first.span
        while atAnd {
            try take()
            let next = try not()
            terms += flattenedAnd(try requirePredicate(next))
            span = span.joined(with: next.span)
        }
        try count(1, at: span)
        chains.append(span)
        return Term(kind: .predicate(.and(terms)), span: span)
    }

    /// `not = ( "NOT" | "!" ) not | comparison ;`
    private mutating func not() throws(PredicateError) -> Term {
        guard token.kind == .reserved(.not) || at(.not) else { return try comparison() }
        let keyword = try take()
        try enter(at: keyword)
        let term = try not()
        leave()
        let tree = try requirePredicate(term)
        try count(1, at: keyword)
        return Term(kind: .predicate(.not(tree)), span: keyword.joined(with: term.span))
    }

    /// `comparison = [ quantifier ] operand relation [ options ] operand | operand ;`
    ///
    /// Without a relation it is whatever the operand was, for a parenthesis may have held a predicate.
    private mutating func comparison() throws(PredicateError) -> Term {
        let start = token.span
        let quantifier = try quantifier()
        let left = try operand()
        if quantifier == nil, case .predicate = left.kind { return left }
        guard let relation = try relation() else {
            if quantifier == nil, !isAtValue { return left }
            throw expectedOperator()
        }
        let options = try options()
        let right = try operand()
        let span = start.joined(with: right.span)
        guard let leftValue = try requireValue(left), let rightValue = try requireValue(right) else {
            return Term(kind: .refused, span: span)
        }
        guard case .comparing(let operation) = relation else { return Term(kind: .refused, span: span) }
        let comparison = Predicate.Comparison(
            quantifier: quantifier, left: leftValue, operation: operation, options: options, right: rightValue
        )
        try count(1, at: span)
        try judge(comparison, left: left.span, right: right.span)
        return Term(kind: .predicate(.comparison(comparison)), span: span)
    }

    /// `quantifier = "ANY" | "SOME" | "ALL" | "NONE" ;`
    private mutating func quantifier() throws(PredicateError) -> Predicate.Quantifier? {
        let quantifier: Predicate.Quantifier
        switch token.kind {
        case .reserved(.any), .reserved(.some): quantifier = .any
        case .reserved(.all): quantifier = .all
        case .reserved(.none): quantifier = .notAny
        default: return nil
        }
        try take()
        return quantifier
    }

    /// An operator that was read: one to compare by, or one that policy refuses.
    private enum Relation {
        case comparing(Predicate.Operator)
        case refused
    }

    /// `relation = "==" | "=" | "!=" | … | "LIKE" | "MATCHES" | "UTI-EQUALS" | … | identifier ":" ;`
    private mutating func relation() throws(PredicateError) -> Relation? {
        if let operation = Self.operators[token.kind] {
            try take()
            return .comparing(operation)
        }
        switch token.kind {
        case .reserved(.matches):
            refuse(.matchesNotAllowed, "regular expressions are not allowed; use LIKE with * and ?", at: try take())
        case .reserved(.typeConformsTo), .reserved(.typeEquals):
            refuse(.typeIdentifierNotAllowed, "type identifiers are not allowed", at: try take())
        case .identifier where lexer.byte(at: 0) == UInt8(ascii: ":"):
            let name = try take()
            let colon = try take()
            refuse(.selectorNotAllowed, "custom operators are not allowed", at: name.joined(with: colon))
        default:
            return nil
        }
        return .refused
    }

    private static let operators: [Token.Kind: Predicate.Operator] = [
        .symbol(.equal): .equal, .symbol(.notEqual): .notEqual, .symbol(.less): .less,
        .symbol(.lessOrEqual): .lessOrEqual, .symbol(.greater): .greater, .symbol(.greaterOrEqual): .greaterOrEqual,
        .reserved(.between): .between, .reserved(.isIn): .isIn, .reserved(.contains): .contains,
        .reserved(.beginsWith): .beginsWith, .reserved(.endsWith): .endsWith, .reserved(.like): .like,
    ]

    /// `options = "[" letter { letter } "]" ;` with letters of `c d l n`, in any order and case.
    private mutating func options() throws(PredicateError) -> Predicate.Options {
        guard at(.leftBracket) else { return [] }
        try take()
        switch token.kind {
        case .identifier, .reserved: break
        default: throw unexpected("one of the letters c, d, l and n")
        }
        let word = token.span
        var options: Predicate.Options = []
        for (index, letter) in lexer.text(in: word).lowercased().enumerated() {
            guard let known = Predicate.Options.letters.first(where: { $0.letter == letter }) else {
                let span = SourceSpan(offset: word.offset + index, length: 1)
                throw PredicateError(.unknownOption, "the options are c, d, l and n", at: span)
            }
            options.insert(known.option)
        }
        try take()
        try expect(.rightBracket)
        return options
    }

    private func flattenedOr(_ tree: Predicate.Tree) -> [Predicate.Tree] {
        if case .or(let terms) = tree { terms } else { [tree] }
    }

    private func flattenedAnd(_ tree: Predicate.Tree) -> [Predicate.Tree] {
        if case .and(let terms) = tree { terms } else { [tree] }
    }

    private var atOr: Bool { token.kind == .reserved(.or) || at(.or) }
    private var atAnd: Bool { token.kind == .reserved(.and) || at(.and) }

    /// Whether the next token begins a value, so that an operator is missing or misspelt before it.
    private var isAtValue: Bool {
        switch token.kind {
        case .identifier, .text, .number, .placeholder, .reserved(.subject), .reserved(.not), .reserved(.null),
            .reserved(.nil):
            true
        default: false
        }
    }
}
