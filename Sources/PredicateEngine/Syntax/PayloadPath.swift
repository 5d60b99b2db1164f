/// A key path of the payload profile: the steps from `SELF`, the payload, to a value.
///
///     issue.labels[FIRST].name     [member "issue", member "labels", first, member "name"]
///     commits.added.@count         [member "commits", member "added", count]
///     SELF                         []
///
/// Invariant: `count` is the last step if it occurs, and there are at most ``PredicateLimits/pathSteps`` steps.
public struct PayloadPath: Hashable, Sendable {
    /// A step from one value to the next. Each gives `NULL` where the value has no such part.
    public enum Step: Hashable, Sendable {
        /// The member of an object, by the bytes of its name. Of an array: the members of its elements, in one array.
        case member(Predicate.Text)
        /// The element of an array at an index from 0.
        case element(Int)
        /// The first element of an array: `[FIRST]`.
        case first
        /// The last element of an array: `[LAST]`.
        case last
        /// The number of elements of an array: `@count` or `[SIZE]`.
        case count
    }

    /// The steps in order; none for `SELF`.
    public internal(set) var steps: [Step] = []

    /// Whether the path ends with a count, so that its value is a number or `NULL`.
    var isCount: Bool { steps.last == .count }
}
