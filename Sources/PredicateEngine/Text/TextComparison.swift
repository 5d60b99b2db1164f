/// A comparison of texts that are given again and again, with a literal or with one another.
///
///     given LIKE[c] 'win-*'       the literal is folded once, when the comparison is made
///     '…' CONTAINS[c] given       the given text is folded on the stack, or compared where it lies
///
/// No memory of the heap is taken for a given text that is ASCII of at most 1,024 bytes, or other text of at most 128 scalars
/// whose form has at most 512 bytes. There are two exceptions: a given text beyond ASCII that is the pattern of a `LIKE[d]`,
/// and a `LIKE` that takes more than a thousand steps with a part between two stars whose table has more than 1 KiB.
package struct TextComparison: Sendable {
    private enum Literal: Sendable {
        /// Both texts are given.
        case none
        case left(FoldedText)
        case right(FoldedText)
        /// A pattern whose folded text does not show where literals of nothing but marks stood.
        case pattern([LikeElement])
        /// A pattern beyond ``PredicateLimits/literalBytes``, which nothing is like.
        case unlike
    }

    private let operation: Predicate.Operator
    private let form: Form
    private let literal: Literal

    /// Between two given texts.
    package init(_ operation: Predicate.Operator, _ options: Predicate.Options) {
        self.init(operation, options) { _ in .none }
    }

    /// Between a literal on the left and given texts.
    package init(_ left: Predicate.Text, _ operation: Predicate.Operator, _ options: Predicate.Options) {
        self.init(operation, options) { .left(Folding.fold(left.utf8, into: $0)) }
    }

    /// Between given texts and a literal on the right.
    package init(_ operation: Predicate.Operator, _ options: Predicate.Options, _ right: Predicate.Text) {
        self.init(operation, options) { form in
            guard operation == .like else { return .right(Folding.fold(right.utf8, into: form)) }
            guard right.utf8.count <= PredicateLimits.literalBytes else { return .unlike }
            let hidesMarks = form.isStripped && !right.utf8.allSatisfy { $0 < 0x80 }
            if hidesMarks { return .pattern(Glob(right.utf8, form: form).elements) }
            return .right(Folding.fold(right.utf8, into: form))
        }
    }

    private init(
        _ operation: Predicate.Operator, _ options: Predicate.Options, _ literal: (Form) -> Literal
    ) {
        self.operation = operation
        form = options.form(of: operation)
        self.literal = literal(form)
    }

    /// The bytes of the literal in its form; 0 between two given texts.
    package var literalBytes: Int {
        switch literal {
        case .none, .unlike: 0
        case .left(let text), .right(let text): text.bytes.count
        case .pattern(let elements): elements.count
        }
    }

    /// Whether a text stands in the relation to the literal.
    package func holds(for text: String) -> Bool {
        text.utf8Span.span.withUnsafeBufferPointer { given in
            Folding.withView(of: given, in: form) { view in
                switch literal {
                case .none: relates(view, view, pattern: given)
                case .left(let left): left.withView { relates($0, view, pattern: given) }
                case .right(let right): right.withView { relates(view, $0, pattern: nil) }
                case .pattern(let elements): Self.matches(view, elements)
                case .unlike: false
                }
            }
        }
    }

    /// Whether two texts stand in the relation.
    package func holds(_ left: String, _ right: String) -> Bool {
        left.utf8Span.span.withUnsafeBufferPointer { left in
            right.utf8Span.span.withUnsafeBufferPointer { right in
                Folding.withView(of: left, in: form) { leftView in
                    Folding.withView(of: right, in: form) { relates(leftView, $0, pattern: right) }
                }
            }
        }
    }

    /// - Parameter pattern: The right side as it is given; nil if that is a literal.
    private func relates(_ left: TextView, _ right: TextView, pattern: UnsafeBufferPointer<UInt8>?) -> Bool {
        var work = 0
        switch operation {
        case .equal: return left.equals(right.bytes, right.count)
        case .notEqual: return !left.equals(right.bytes, right.count)
        case .less: return left.order(right.bytes, right.count) < 0
        case .lessOrEqual: return left.order(right.bytes, right.count) <= 0
        case .greater: return left.order(right.bytes, right.count) > 0
        case .greaterOrEqual: return left.order(right.bytes, right.count) >= 0
        // No text begins with, ends with or contains the empty text.
        case .beginsWith: return right.count > 0 && left.hasPrefix(right.bytes, right.count)
        case .endsWith: return right.count > 0 && left.hasSuffix(right.bytes, right.count)
        case .contains: return right.count > 0 && left.contains(right.bytes, right.count, &work)
        case .isIn: return left.count > 0 && right.contains(left.bytes, left.count, &work)
        case .like:
            guard let pattern else { return left.isLike(pattern: right, &work) }
            guard pattern.count <= PredicateLimits.literalBytes else { return false }
            if !form.isStripped || pattern.allSatisfy({ $0 < 0x80 }) { return left.isLike(pattern: right, &work) }
            return Self.matches(left, Glob(Array(pattern), form: form).elements)
        case .between: return false
        }
    }

    private static func matches(_ text: TextView, _ elements: [LikeElement]) -> Bool {
        var work = 0
        return BitParallelLike(elements: elements.makeIterator()).match(text, from: 0, isFixed: true, &work)
    }
}
