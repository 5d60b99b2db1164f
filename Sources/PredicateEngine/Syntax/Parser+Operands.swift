// MARK: - Arithmetic

extension Parser {
    /// `operand = sum { ( "&" | "|" | "^" | "<<" | ">>" ) sum } ;`
    mutating func operand() throws(PredicateError) -> Term {
        var left = try sum()
        while case .symbol(let symbol) = token.kind, Self.bitwise.contains(symbol) {
            left = try calculated(left, by: takeSymbol(), sum())
        }
        return left
    }

    private static let bitwise: Set<Symbol> = [.bitAnd, .bitOr, .bitXor, .shiftLeft, .shiftRight]

    /// `sum = product { ( "+" | "-" ) product } ;`
    private mutating func sum() throws(PredicateError) -> Term {
        var left = try product()
        while at(.plus) || at(.minus) { left = try calculated(left, by: takeSymbol(), product()) }
        return left
    }

    /// `product = power { ( "*" | "/" ) power } ;`
    private mutating func product() throws(PredicateError) -> Term {
        var left = try power()
        while at(.star) || at(.slash) { left = try calculated(left, by: takeSymbol(), power()) }
        return left
    }

    /// `power = unary { "**" unary } ;`
    private mutating func power() throws(PredicateError) -> Term {
        var left = try unary()
        while at(.power) { left = try calculated(left, by: takeSymbol(), unary()) }
        return left
    }

    /// `unary = "-" number | "-" unary | postfix ;`
    private mutating func unary() throws(PredicateError) -> Term {
        guard at(.minus) else { return try postfix() }
        let sign = try take()
        if case .number(let magnitude) = token.kind, let number = magnitude.number(isNegative: true) {
            return Term(kind: .value(.number(number)), span: sign.joined(with: try take()))
        }
        try enter(at: sign)
        let term = try unary()
        leave()
        let zero = Term(kind: .value(.number(.integer(0))), span: sign)
        return try calculated(zero, by: .minus, term)
    }

    private mutating func takeSymbol() throws(PredicateError) -> Symbol {
        guard case .symbol(let symbol) = token.kind else { throw unexpected("an arithmetic operator") }
        try take()
        return symbol
    }

    /// The result of arithmetic. Number literals are calculated here and now; anything else would have to be
    /// calculated for each subject, which is refused.
    private mutating func calculated(_ left: Term, by operation: Symbol, _ right: Term) throws(PredicateError) -> Term {
        let span = left.span.joined(with: right.span)
        guard let leftValue = try requireValue(left), let rightValue = try requireValue(right) else {
            return Term(kind: .refused, span: span)
        }
        guard case (.number(let leftNumber), .number(let rightNumber)) = (leftValue, rightValue),
            !Self.bitwise.contains(operation)
        else {
            let hint = profile == .payload && operation == .minus ? "; a name with a hyphen is written SELF['a-b']" : ""
            return refused(.arithmeticNotAllowed, "only number literals may be calculated with\(hint)", at: span)
        }
        if let result = Predicate.Number.calculate(leftNumber, operation, rightNumber) {
            return Term(kind: .value(.number(result)), span: span)
        }
        noteMisfit(.arithmeticFault, "this has no finite result; exponents must be whole", at: span)
        return Term(kind: .value(.number(.integer(0))), span: span)
    }
}

// MARK: - Values

extension Parser {
    /// `postfix = primary { "." keyPathName | index } ;`
    private mutating func postfix() throws(PredicateError) -> Term {
        var term = try primary()
        if case .predicate = term.kind { return term }
        while true {
            if at(.dot) {
                try take()
                term = try member(of: term, keyPathName())
            } else if at(.leftBracket) {
                let (content, brackets) = try index()
                term = try element(of: term, content, brackets)
            } else {
                return term
            }
        }
    }

    /// `keyPathName = word | "@" word | "#" word ;`
    private mutating func keyPathName() throws(PredicateError) -> Token {
        switch token.kind {
        case .identifier, .reserved, .collectionOperator, .escapedIdentifier: return try takeToken()
        default: throw unexpected("a name after the dot")
        }
    }

    /// `index = "[" ( "FIRST" | "LAST" | "SIZE" | operand ) "]" ;`
    private mutating func index() throws(PredicateError) -> (IndexContent, SourceSpan) {
        let opening = try expect(.leftBracket)
        try enter(at: opening)
        let content: IndexContent
        switch token.kind {
        case .reserved(.first): content = .first
        case .reserved(.last): content = .last
        case .reserved(.size): content = .size
        default: content = try requireValue(operand()).map(IndexContent.value) ?? .refused
        }
        switch content {
        case .first, .last, .size: try take()
        case .value, .refused: break
        }
        leave()
        return (content, opening.joined(with: try expect(.rightBracket)))
    }

    /// ```
    /// primary = parenthesized | aggregate | string | number | reserved
    ///         | placeholder | formatSpecifier | identifier | "@" word | "#" word | variable ;
    /// ```
    private mutating func primary() throws(PredicateError) -> Term {
        switch token.kind {
        case .reserved(let word): return try reserved(word)
        case .text(let utf8): return Term(kind: .value(.text(Predicate.Text(utf8: utf8))), span: try take())
        case .number(let magnitude): return try number(magnitude)
        case .symbol(.leftBrace): return try aggregate()
        case .symbol(.leftParenthesis): return try parenthesized()
        case .placeholder: return try placeholder()
        case .formatSpecifier: return try formatSpecifier()
        case .identifier: return try identifier()
        case .escapedIdentifier, .collectionOperator: return try keyPath(takeToken())
        case .variable: return try variable()
        default: throw unexpected("a value")
        }
    }

    /// `parenthesized = "(" or ")" ;`: a predicate or a value, whichever it holds.
    private mutating func parenthesized() throws(PredicateError) -> Term {
        let opening = try take()
        try enter(at: opening)
        var term = try or()
        leave()
        term.span = opening.joined(with: try expect(.rightParenthesis))
        return term
    }

    private mutating func number(_ magnitude: Magnitude) throws(PredicateError) -> Term {
        let span = try take()
        guard let number = magnitude.number(isNegative: false) else {
            throw PredicateError(.invalidNumber, "the number is not finite", at: span)
        }
        return Term(kind: .value(.number(number)), span: span)
    }

    /// `aggregate = "{" [ operand { "," operand } ] "}" ;`
    private mutating func aggregate() throws(PredicateError) -> Term {
        let opening = try expect(.leftBrace)
        try enter(at: opening)
        var elements: [Predicate.Operand] = []
        var isRefused = false
        if !at(.rightBrace) {
            repeat {
                if at(.comma) { try take() }
                let element = try operand()
                try count(1, at: element.span)
                try checkAggregate(elements.count + 1, at: element.span)
                if let value = try requireValue(element) { elements.append(value) } else { isRefused = true }
            } while at(.comma)
        }
        leave()
        guard at(.rightBrace) else { throw unexpected("',' or '}'") }
        let span = opening.joined(with: try take())
        return Term(kind: isRefused ? .refused : .value(.aggregate(elements)), span: span)
    }

    private func checkAggregate(_ count: Int, at span: SourceSpan) throws(PredicateError) {
        guard count > PredicateLimits.aggregateElements else { return }
        let message = "an aggregate is limited to \(PredicateLimits.aggregateElements) elements"
        throw PredicateError(.aggregateTooLong, message, at: span)
    }

    /// ```
    /// reserved = "TRUEPREDICATE" | "FALSEPREDICATE" | "SELF" | "NULL" | "NIL" | "TRUE" | "YES" | "FALSE" | "NO"
    ///          | "ANYKEY" | ( "SUBQUERY" | "FETCH" | "CAST" ) call ;
    /// ```
    private mutating func reserved(_ word: ReservedWord) throws(PredicateError) -> Term {
        switch word {
        case .truePredicate: return Term(kind: .predicate(.constant(true)), span: try takeNode())
        case .falsePredicate: return Term(kind: .predicate(.constant(false)), span: try takeNode())
        case .subject: return Term(kind: .value(subject), span: try take())
        case .null, .nil: return Term(kind: .value(.null), span: try take())
        case .true, .yes: return Term(kind: .value(.boolean(true)), span: try take())
        case .false, .no: return Term(kind: .value(.boolean(false)), span: try take())
        case .subquery, .fetch, .cast: return try call(take())
        case .anyKey where profile == .payload:
            return refused(.keyPathNotAllowed, "ANYKEY is not allowed", at: try take())
        case .anyKey: return try keyPath(takeToken())
        default:
            let name = lexer.text(in: token.span)
            let hint = profile == .payload ? "; a member of this name is #\(name)" : ""
            let message = "\(word.rawValue) is a reserved word; expected a value\(hint)"
            throw PredicateError(.reservedWord, message, at: token.span)
        }
    }

    private mutating func takeNode() throws(PredicateError) -> SourceSpan {
        try count(1, at: token.span)
        return try take()
    }
}

// MARK: - Arguments

extension Parser {
    /// `placeholder = "%@" ;`: the next argument, as a literal.
    private mutating func placeholder() throws(PredicateError) -> Term {
        let span = try take()
        guard let argument = nextArgument() else {
            refuse(.missingArgument, "there is no argument for this %@", at: span)
            return Term(kind: .refused, span: span)
        }
        return Term(kind: .value(try operand(for: argument, at: span)), span: span, isPlaceholder: true)
    }

    func checkLiteral(_ length: Int, of literal: String, at span: SourceSpan) throws(PredicateError) {
        guard length > PredicateLimits.literalBytes else { return }
        let message = "\(literal) takes \(length) bytes; the limit is \(PredicateLimits.literalBytes)"
        throw PredicateError(.literalTooLong, message, at: span)
    }

    private mutating func operand(
        for argument: PredicateArgument, at span: SourceSpan
    ) throws(PredicateError) -> Predicate.Operand {
        switch argument {
        case .null: return .null
        case .bool(let value): return .boolean(value)
        case .integer(let value): return .number(.integer(value))
        case .number(let value):
            guard let number = Predicate.Number(value) else {
                throw PredicateError(.invalidArgument, "the number is not finite", at: span)
            }
            return .number(number)
        case .string(let text):
            try checkLiteral(text.utf8.count, of: "the string", at: span)
            return .text(Predicate.Text(utf8: Array(text.utf8)))
        case .list(let arguments):
            try checkAggregate(arguments.count, at: span)
            try count(arguments.count, at: span)
            try enter(at: span)
            var elements: [Predicate.Operand] = []
            for argument in arguments { elements.append(try operand(for: argument, at: span)) }
            leave()
            return .aggregate(elements)
        }
    }

    /// `formatSpecifier = "%" conversion ;`
    private mutating func formatSpecifier() throws(PredicateError) -> Term {
        let span = token.span
        let isKeyPath = lexer.text(in: span) == "%K"
        try take()
        if isKeyPath { return try keyPathArgument(span) }
        let known = profile == .payload ? "the only format specifiers are %@ and %K" : "the only format specifier is %@"
        return refused(.formatSpecifierNotAllowed, known, at: span)
    }
}

// MARK: - Forms that are read to be refused

extension Parser {
    /// `identifier = word [ call ] ;`: a key path, or a function.
    private mutating func identifier() throws(PredicateError) -> Term {
        let name = try takeToken()
        return at(.leftParenthesis) ? try call(name.span) : try keyPath(name)
    }

    /// `call = "(" [ or { "," or } ] ")" ;` The arguments may be predicates, as in `TERNARY` and `SUBQUERY`.
    private mutating func call(_ name: SourceSpan) throws(PredicateError) -> Term {
        refuse(.functionNotAllowed, "functions are not allowed", at: name)
        try enter(at: expect(.leftParenthesis))
        if !at(.rightParenthesis) {
            _ = try or()
            while at(.comma) {
                try take()
                _ = try or()
            }
        }
        leave()
        guard at(.rightParenthesis) else { throw unexpected("',' or ')'") }
        return Term(kind: .refused, span: name.joined(with: try take()))
    }

    /// `variable = "$" word [ ":=" operand ] ;`
    private mutating func variable() throws(PredicateError) -> Term {
        let name = try take()
        guard at(.assign) else {
            refuse(.variableNotAllowed, "variables are not allowed", at: name)
            return Term(kind: .refused, span: name)
        }
        let sign = try take()
        refuse(.assignmentNotAllowed, "assignments are not allowed", at: name.joined(with: sign))
        // An assignment may hold another one: $x := $y := 1.
        try enter(at: sign)
        let value = try operand()
        leave()
        _ = try requireValue(value)
        return Term(kind: .refused, span: name.joined(with: value.span))
    }
}
