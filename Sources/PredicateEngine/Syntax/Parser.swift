/// Reads a predicate by recursive descent, a method per rule of the grammar in `docs/PREDICATES.md`.
///
///     text ──Lexer──▶ tokens ──Parser──▶ Predicate.Tree
///                                ▲
///                        arguments for %@
///
/// The grammar is wider than the accepted language: it covers key paths, functions, variables, arithmetic and the rest
/// of NSPredicate's language, so that `SELF.length > 3` is answered with "key paths are not allowed" and not with
/// "syntax error". Such a form is read to its end and leaves a `refused` term behind. Faults are reported in this
/// order, whatever their places:
///
/// 1. a fault of grammar, or a limit: thrown where it is met;
/// 2. the leftmost form that policy refuses: kept in `refusal`, thrown when the text is read;
/// 3. the leftmost misfit of types: kept in `misfit`, thrown last.
///
/// One token of lookahead is enough, because a parenthesis may hold a predicate or a value: the parser knows which one
/// when it is closed, and no text is ever read twice.
///
/// Invariant: `token` is the next token to be read. `depth` is the number of constructs open at this point and
/// bounds the recursion: every rule that leads back to itself passes through `enter`.
struct Parser {
    private(set) var lexer: Lexer
    private(set) var token: Token
    let profile: PredicateProfile
    /// The values that key paths may name; nil for any.
    private let schema: KeyPathSchema?
    private let arguments: [PredicateArgument]
    private var usedArguments = 0
    private var depth = 0
    private var nodes = 0
    /// Comparisons, or passes over the payload.
    private var cost = 0
    private var refusal: PredicateError?
    private var misfit: PredicateError?
    private(set) var warnings: [PredicateWarning] = []

    init(
        _ format: String, arguments: [PredicateArgument], profile: PredicateProfile = .conditions,
        schema: KeyPathSchema? = nil
    ) throws(PredicateError) {
        let bytes = Array(format.utf8)
        let excess = bytes.count - PredicateLimits.textBytes
        guard excess <= 0 else {
            let message = "the text takes \(bytes.count) bytes; the limit is \(PredicateLimits.textBytes)"
            let span = SourceSpan(offset: PredicateLimits.textBytes, length: excess)
            throw PredicateError(.textTooLong, message, at: span)
        }
        guard arguments.count <= PredicateLimits.arguments else {
            let message = "there are \(arguments.count) arguments; the limit is \(PredicateLimits.arguments)"
            throw PredicateError(.tooManyArguments, message, at: SourceSpan(offset: 0, length: bytes.count))
        }
        lexer = Lexer(bytes)
        self.arguments = arguments
        self.profile = profile
        self.schema = schema
        token = try lexer.next()
    }
}

/// The result of a rule that may have read a predicate or a value.
struct Term {
    enum Kind {
        case predicate(Predicate.Tree)
        case value(Predicate.Operand)
        /// Something of the wide grammar that policy refuses; the refusal is on record.
        case refused
    }

    var kind: Kind
    var span: SourceSpan
    /// Whether this is a `%@`, which can be told from a literal only here.
    var isPlaceholder = false
}

// MARK: - Judging

extension Parser {
    /// Checks types and cost, and warns of probable mistakes.
    mutating func judge(
        _ comparison: Predicate.Comparison, left: SourceSpan, right: SourceSpan
    ) throws(PredicateError) {
        let span = left.joined(with: right)
        if let fault = comparison.typeFault ?? schema?.fault(of: comparison) {
            let place = fault.side == .left ? left : right
            return noteMisfit(fault.code, fault.message, at: place)
        }
        try charge(for: comparison, at: span)
        if comparison.ignoresOptions {
            let value = profile == .payload ? "the other value" : "SELF"
            let message = "elements of an aggregate are compared exactly; use ANY {…} ==[c] \(value)"
            warn(.ignoredOptions, message, at: span)
        }
        if comparison.hasEmptyNeedle {
            let message = "\(comparison.operation.rawValue) with an empty or null operand never matches"
            warn(.neverMatches, message, at: span)
        }
    }

    private mutating func charge(for comparison: Predicate.Comparison, at span: SourceSpan) throws(PredicateError) {
        let (limit, unit): (Int, String)
        switch profile {
        case .conditions:
            (limit, unit) = (PredicateLimits.comparisons, "comparisons")
            cost += comparison.cost(atMost: limit)
        case .payload:
            (limit, unit) = (PredicateLimits.passes, "passes over the payload")
            cost += comparison.passes
        }
        guard cost > limit else { return }
        throw PredicateError(.tooManyComparisons, "evaluation could take more than \(limit) \(unit)", at: span)
    }

    /// The tree of a term that has to be a predicate. A refused term passes as a constant, which is never seen.
    mutating func requirePredicate(_ term: Term) throws(PredicateError) -> Predicate.Tree {
        switch term.kind {
        case .predicate(let tree): return tree
        case .refused: return .constant(false)
        case .value where term.isPlaceholder:
            // NSPredicate's guide forbids %@ in this place by name, so it is policy, not grammar.
            refuse(.argumentNotAPredicate, "%@ stands for a value, not for a predicate", at: term.span)
            return .constant(false)
        case .value:
            let message = "this is a value; a predicate compares values, as in \(profile.example)"
            throw PredicateError(.notAPredicate, message, at: term.span)
        }
    }

    /// The operand of a term that has to be a value; nil for a refused one.
    func requireValue(_ term: Term) throws(PredicateError) -> Predicate.Operand? {
        switch term.kind {
        case .value(let operand): return operand
        case .refused: return nil
        case .predicate: throw PredicateError(.notAValue, "a predicate cannot stand for a value", at: term.span)
        }
    }

    /// Puts a refusal on record. Rules are read from left to right, so the first is the leftmost but for forms
    /// that are refused at their end; offsets decide.
    mutating func refuse(_ code: PredicateError.Code, _ message: String, at span: SourceSpan) {
        if let refusal, refusal.span.offset <= span.offset { return }
        refusal = PredicateError(code, message, at: span)
    }

    /// A term in the place of a form that policy refuses.
    mutating func refused(_ code: PredicateError.Code, _ message: String, at span: SourceSpan) -> Term {
        refuse(code, message, at: span)
        return Term(kind: .refused, span: span)
    }

    mutating func warn(_ code: PredicateWarning.Code, _ message: String, at span: SourceSpan) {
        warnings.append(PredicateWarning(code, message, at: span))
    }

    /// Throws the fault on record, now that the text is known to be a predicate.
    func conclude() throws(PredicateError) {
        if let refusal { throw refusal }
        if usedArguments < arguments.count {
            let places = profile == .payload ? "%@ and %K occur" : "%@ occurs"
            let message = "\(arguments.count) arguments were given, but \(places) \(usedArguments) times"
            throw PredicateError(.unusedArgument, message, at: token.span)
        }
        if let misfit { throw misfit }
    }

    /// Puts the first misfit on record.
    mutating func noteMisfit(_ code: PredicateError.Code, _ message: String, at span: SourceSpan) {
        if misfit == nil { misfit = PredicateError(code, message, at: span) }
    }
}

// MARK: - Tokens and limits

extension Parser {
    func at(_ symbol: Symbol) -> Bool { token.kind == .symbol(symbol) }

    /// Reads the token and returns its span.
    @discardableResult
    mutating func take() throws(PredicateError) -> SourceSpan {
        let span = token.span
        token = try lexer.next()
        return span
    }

    /// Reads the token and returns it.
    mutating func takeToken() throws(PredicateError) -> Token {
        let taken = token
        try take()
        return taken
    }

    @discardableResult
    mutating func expect(_ symbol: Symbol) throws(PredicateError) -> SourceSpan {
        guard at(symbol) else { throw unexpected("'\(symbol.rawValue)'") }
        return try take()
    }

    /// Opens a construct that can hold another of its kind. `leave` closes it; an error need not, since it ends
    /// the reading.
    mutating func enter(at span: SourceSpan) throws(PredicateError) {
        depth += 1
        guard depth <= PredicateLimits.depth else {
            throw PredicateError(.tooDeep, "nesting is limited to \(PredicateLimits.depth) levels", at: span)
        }
    }

    mutating func leave() { depth -= 1 }

    /// Counts nodes of the tree.
    mutating func count(_ more: Int, at span: SourceSpan) throws(PredicateError) {
        nodes += more
        guard nodes <= PredicateLimits.nodes else {
            throw PredicateError(.tooManyNodes, "a predicate is limited to \(PredicateLimits.nodes) nodes", at: span)
        }
    }

    /// The next argument, or nil when none is left.
    mutating func nextArgument() -> PredicateArgument? {
        defer { usedArguments += 1 }
        return usedArguments < arguments.count ? arguments[usedArguments] : nil
    }
}

// MARK: - Errors

extension Parser {
    /// The error for a token where the grammar wants something else.
    func unexpected(_ wanted: String) -> PredicateError {
        if token.kind == .end {
            return PredicateError(.unexpectedEnd, "expected \(wanted), but the text ends", at: token.span)
        }
        return PredicateError(.unexpectedToken, "expected \(wanted)", at: token.span)
    }

    /// The error for a value with something else than an operator after it.
    func expectedOperator() -> PredicateError {
        if token.kind == .end { return unexpected("a comparison operator") }
        let hint = Self.hints[lexer.text(in: token.span).uppercased()].map { "; \($0)" } ?? ""
        return PredicateError(.expectedOperator, "expected a comparison operator\(hint)", at: token.span)
    }

    /// Frequent mistakes of authors who come from other languages, or write in haste.
    private static let hints: [String: String] = {
        var hints = [
            "NOT": "write NOT (x IN y)", "IS": "write == NULL", "EQUALS": "write ==", "REGEXP": "write LIKE",
            "CONTAIN": "write CONTAINS", "INCLUDES": "write CONTAINS", "ILIKE": "write LIKE[c]",
        ]
        for word in ["BEGINWITH", "BEGINS", "STARTSWITH", "STARTWITH", "HASPREFIX"] { hints[word] = "write BEGINSWITH" }
        for word in ["ENDWITH", "ENDS", "HASSUFFIX"] { hints[word] = "write ENDSWITH" }
        return hints
    }()
}
