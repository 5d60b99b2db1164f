/// A condition over a JSON payload, in the language of NSPredicate's format strings: the payload profile.
///
///     let predicate = try PayloadPredicate(
///         format: "action == 'labeled' AND ANY issue.labels.name IN %@", arguments: [.list([.string("bug")])])
///     predicate.evaluate(with: payload)
///
/// The language is that of ``Predicate`` with key paths in the place of the one string: `SELF` is the payload.
/// `docs/PREDICATES.md` is its definition.
///
/// A predicate that exists is sound: evaluating it cannot fail, whatever the payload is, and takes work that is
/// bounded by ``PredicateLimits/passes`` times the size of the payload. Equality is equality of the trees; warnings
/// take no part in it.
public struct PayloadPredicate: Sendable {
    /// The tree, sound by construction. It has key paths, and no `subject`: `SELF` is the path without steps.
    public let root: Predicate.Tree

    /// The places that the predicate's author should look at again.
    public let warnings: [PredicateWarning]

    /// Reads a predicate.
    ///
    /// - Parameters:
    ///   - format: The text; `docs/PREDICATES.md` has the grammar.
    ///   - arguments: The values for each `%@` and the key paths for each `%K` in the text, in order. A key path is a
    ///     string of names with dots between them, or a list of strings, each a name.
    /// - Throws: The first fault, in the order of ``Predicate/init(format:arguments:)``.
    public init(format: String, arguments: [PredicateArgument] = []) throws(PredicateError) {
        var parser = try Parser(format, arguments: arguments, profile: .payload)
        let root = try parser.predicate()
        let whole = SourceSpan(offset: 0, length: format.utf8.count)
        try self.init(root: root, warnings: parser.warnings, span: whole)
    }

    /// Reads a predicate over known fields.
    ///
    /// - Throws: The first fault; a name that the schema does not have is `key-path-not-allowed`, a comparison that no value
    ///   of the field satisfies is `type-mismatch` or `collection-required`.
    package init(format: String, over schema: KeyPathSchema) throws(PredicateError) {
        var parser = try Parser(format, arguments: [], profile: .payload, schema: schema)
        let root = try parser.predicate()
        try self.init(
            root: root, warnings: parser.warnings, span: SourceSpan(offset: 0, length: format.utf8.count))
    }

    /// A part of a predicate as a predicate of its own.
    ///
    /// - Parameter part: A part of the tree of a predicate.
    package init(part: Predicate.Tree) {
        root = part
        warnings = []
    }

    /// Takes a tree whose shape is known to be sound, and makes sure that its canonical text can be read again.
    init(root: Predicate.Tree, warnings: [PredicateWarning] = [], span: SourceSpan) throws(PredicateError) {
        try Printer.checkLength(of: root, span: span)
        self.root = root
        self.warnings = warnings
    }

    /// Whether the predicate holds for the payload.
    public func evaluate(with payload: PayloadValue) -> Bool {
        var evaluation = PayloadEvaluation(payload: payload)
        return evaluation.holds(root)
    }
}

extension PayloadPredicate: Hashable {
    /// Whether both have the same tree, literals and names compared byte for byte.
    public static func == (left: PayloadPredicate, right: PayloadPredicate) -> Bool { left.root == right.root }

    /// Feeds the tree.
    public func hash(into hasher: inout Hasher) { hasher.combine(root) }
}

extension PayloadPredicate: CustomStringConvertible {
    /// The canonical text. Reading it again gives an equal predicate.
    public var description: String { Printer.text(of: root) }
}
