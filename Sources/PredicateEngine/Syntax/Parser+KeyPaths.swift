/// Which predicates a parser accepts. The grammar is the same.
enum PredicateProfile: Sendable {
    /// One string, `SELF`: activation conditions.
    case conditions
    /// Key paths into a JSON payload.
    case payload

    /// A predicate to show where one is missing.
    var example: String {
        switch self {
        case .conditions: "SELF == 'a'"
        case .payload: "action == 'opened'"
        }
    }
}

/// The index that was read between brackets.
enum IndexContent {
    case first, last, size
    case value(Predicate.Operand)
    /// A form that policy refuses; the refusal is on record.
    case refused
}

// MARK: - Key paths

extension Parser {
    /// `SELF`: the subject, or the path without steps.
    var subject: Predicate.Operand { profile == .payload ? .path(PayloadPath()) : .subject }

    /// A key path that begins with a word, `@word` or `#word`.
    mutating func keyPath(_ name: Token) throws(PredicateError) -> Term {
        guard profile == .payload else {
            let message = "the only key path allowed is SELF; put strings in quotes"
            return refused(.keyPathNotAllowed, message, at: name.span)
        }
        return try appending(name, to: Term(kind: .value(subject), span: name.span))
    }

    /// `term.name`
    mutating func member(of term: Term, _ name: Token) throws(PredicateError) -> Term {
        guard profile == .payload else {
            let span = term.span.joined(with: name.span)
            return refused(.keyPathNotAllowed, "the only key path allowed is SELF", at: span)
        }
        return try appending(name, to: term)
    }

    /// `term[index]`
    mutating func element(
        of term: Term, _ index: IndexContent, _ brackets: SourceSpan
    ) throws(PredicateError) -> Term {
        let span = term.span.joined(with: brackets)
        guard profile == .payload else {
            return refused(.indexNotAllowed, "index expressions are not allowed", at: span)
        }
        let step: PayloadPath.Step
        switch index {
        case .refused: return Term(kind: .refused, span: span)
        case .first: step = .first
        case .last: step = .last
        case .size: step = .count
        case .value(.text(let name)): step = .member(name)
        case .value(.number(.integer(let place))) where place >= 0: step = .element(Int(place))
        case .value:
            let message = "an index is a whole number from 0, FIRST, LAST, SIZE or the name of a member in quotes"
            return refused(.indexNotAllowed, message, at: brackets)
        }
        return try appending(step, to: term, span, orRefuse: .indexNotAllowed)
    }

    private mutating func appending(_ name: Token, to term: Term) throws(PredicateError) -> Term {
        let span = term.span.joined(with: name.span)
        let text = lexer.text(in: name.span)
        let step: PayloadPath.Step
        switch name.kind {
        case .collectionOperator where text == "@count": step = .count
        case .collectionOperator:
            let message = "the only collection operator is @count; in brackets it is a member, as in SELF['\(text)']"
            return refused(.keyPathNotAllowed, message, at: name.span)
        case .escapedIdentifier: step = .member(Predicate.Text(utf8: Array(text.utf8.dropFirst())))
        default: step = .member(Predicate.Text(utf8: Array(text.utf8)))
        }
        return try appending(step, to: term, span, orRefuse: .keyPathNotAllowed)
    }

    private mutating func appending(
        _ step: PayloadPath.Step, to term: Term, _ span: SourceSpan, orRefuse code: PredicateError.Code
    ) throws(PredicateError) -> Term {
        switch term.kind {
        case .value(.path(var path)):
            guard !path.isCount else { return refused(code, "a count is a number, which has no parts", at: span) }
            path.steps.append(step)
            try checkPath(path.steps.count, at: span)
            try count(1, at: span)
            return Term(kind: .value(.path(path)), span: span)
        case .refused: return Term(kind: .refused, span: span)
        case .value, .predicate: return refused(code, "only values of the payload have parts", at: span)
        }
    }

    private func checkPath(_ count: Int, at span: SourceSpan) throws(PredicateError) {
        guard count > PredicateLimits.pathSteps else { return }
        throw PredicateError(.tooDeep, "a key path is limited to \(PredicateLimits.pathSteps) steps", at: span)
    }
}

// MARK: - %K

extension Parser {
    /// `%K`: the next argument, as a key path.
    mutating func keyPathArgument(_ span: SourceSpan) throws(PredicateError) -> Term {
        guard profile == .payload else {
            return refused(.keyPathArgumentNotAllowed, "key paths are not allowed, nor %K for one", at: span)
        }
        guard let argument = nextArgument() else {
            return refused(.missingArgument, "there is no argument for this %K", at: span)
        }
        guard let names = Self.names(of: argument) else {
            let message = "%K takes names with dots between them, as in 'issue.title', or a list of names"
            return refused(.invalidArgument, message, at: span)
        }
        // The canonical text may need brackets for a name, which are a level.
        try enter(at: span)
        leave()
        var path = PayloadPath()
        for name in names {
            try checkLiteral(name.utf8.count, of: "the name", at: span)
            path.steps.append(.member(name))
        }
        try checkPath(path.steps.count, at: span)
        try count(path.steps.count, at: span)
        return Term(kind: .value(.path(path)), span: span)
    }

    /// The names of a key path, at least one; nil if the argument is none. A string is cut at its dots, names in a list
    /// are taken as they are.
    private static func names(of argument: PredicateArgument) -> [Predicate.Text]? {
        switch argument {
        case .string(let text):
            let names = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            return names.contains { $0.isEmpty } ? nil : names.map { Predicate.Text(utf8: Array($0)) }
        case .list(let elements):
            var names: [Predicate.Text] = []
            for case .string(let name) in elements { names.append(Predicate.Text(utf8: Array(name.utf8))) }
            return names.isEmpty || names.count < elements.count ? nil : names
        default: return nil
        }
    }
}
