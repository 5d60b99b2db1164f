/// A condition over one string, `SELF`, in the language of NSPredicate's format strings.
///
///     let predicate = try Predicate(format: "SELF BEGINSWITH %@", arguments: [.string("doc/")])
///     predicate.evaluate(with: "doc/42")  // true
///
/// The language is the part that UIKit allows in activation conditions: no block, no regular expression,
/// no key path but `SELF`. `docs/PREDICATES.md` is its definition.
///
/// A predicate that exists is sound: evaluating it cannot fail, costs a bounded amount of work and needs
/// a bounded amount of stack. Equality is equality of the trees; warnings take no part in it.
public struct Predicate: Sendable {
    /// The tree. It is sound by construction, which is why clients can read trees but not make predicates of them.
    public let root: Tree

    /// The places that the predicate's author should look at again. Empty for predicates that were not made from text.
    public let warnings: [PredicateWarning]

    /// Reads a predicate.
    ///
    /// - Parameters:
    ///   - format: The text; `docs/PREDICATES.md` has the grammar.
    ///   - arguments: The values for each `%@` in the text, in order.
    /// - Throws: The first fault. Faults of grammar come before forms that are refused by policy, and those
    ///   before types that do not fit; within each kind the leftmost comes first.
    public init(format: String, arguments: [PredicateArgument] = []) throws(PredicateError) {
        var parser = try Parser(format, arguments: arguments)
        let root = try parser.predicate()
        let whole = SourceSpan(offset: 0, length: format.utf8.count)
        try self.init(root: root, warnings: parser.warnings, span: whole)
    }

    /// Takes a tree whose shape is known to be sound, and makes sure that its canonical text can be read again.
    init(root: Tree, warnings: [PredicateWarning] = [], span: SourceSpan) throws(PredicateError) {
        try Printer.checkLength(of: root, span: span)
        self.root = root
        self.warnings = warnings
    }

    private init(constant value: Bool) {
        root = .constant(value)
        warnings = []
    }

    /// `TRUEPREDICATE`, UIKit's default for *can*.
    public static var alwaysTrue: Predicate { Predicate(constant: true) }

    /// `FALSEPREDICATE`, UIKit's default for *prefers*.
    public static var alwaysFalse: Predicate { Predicate(constant: false) }

    /// Whether the predicate holds for the subject; `nil` is the absent subject, which equals `NULL`.
    ///
    /// Compiles the predicate each time. To ask more than once, keep a ``Program``.
    public func evaluate(with subject: String?) -> Bool {
        var subject = Subject(subject)
        return Program(self).evaluate(&subject)
    }
}

extension Predicate: Hashable {
    /// Whether both have the same tree, literals compared byte for byte.
    public static func == (left: Predicate, right: Predicate) -> Bool { left.root == right.root }

    /// Feeds the tree.
    public func hash(into hasher: inout Hasher) { hasher.combine(root) }
}

extension Predicate: CustomStringConvertible {
    /// The canonical text. Reading it again gives an equal predicate.
    public var description: String { Printer.text(of: root) }
}
