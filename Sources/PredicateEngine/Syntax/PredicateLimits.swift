/// The limits on the cost of a predicate. A predicate beyond a limit is refused when it is made, by policy, with its
/// own code.
///
/// The limits make construction, printing, comparing, evaluating and freeing a predicate safe for text from unknown
/// clients: no recursion goes deeper than `depth`, and no work grows faster than the product of the text's length and
/// the subject's length.
public enum PredicateLimits: Sendable {
    /// UTF-8 bytes of the text, and of the canonical text made from it: 16 KiB.
    public static let textBytes = 16 * 1024

    /// Nodes of the tree. Every comparison, connective and constant is one, and so is every element of an aggregate.
    public static let nodes = 4096

    /// How deep `(`, `{`, `[`, `NOT`, unary `-`, `:=` and lists among the arguments may nest, together.
    public static let depth = 64

    /// Elements of one aggregate, `{…}` or a list among the arguments.
    public static let aggregateElements = 1024

    /// UTF-8 bytes of one string literal, after its escapes are resolved, and of one number as written: 1 KiB.
    public static let literalBytes = 1024

    /// Arguments for `%@`.
    public static let arguments = 1024

    /// Comparisons of two values that one evaluation may make; `ANY {a, b} IN {c, d}` stands for four.
    public static let comparisons = 16 * 1024

    /// Steps of one key path of the payload profile.
    public static let pathSteps = 64

    /// Passes over the payload that one evaluation of a payload predicate may take; `docs/PREDICATES.md` counts them.
    public static let passes = 4096

    /// UTF-8 bytes of a string of the payload in which `ANY path IN path` looks for the elements of an array.
    public static let searchedBytes = 256
}
