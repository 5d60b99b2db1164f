/// The values that a predicate over known fields may name, with their types.
///
///     priority                     a number
///     candidate.activationState    one of four texts
///     payload                      any value, and any path below it
///
/// A name that is not there, and a comparison that no value of the field can satisfy, are faults of the predicate, found
/// when it is read.
package struct KeyPathSchema: Sendable {
    /// The values that a field can have, apart from `NULL`.
    package enum ValueType: Hashable, Sendable {
        /// Any string.
        case text
        /// One of these strings.
        case choice([String])
        /// A number.
        case number
        /// `TRUE` or `FALSE`.
        case boolean
        /// Any value of JSON.
        case json
    }

    /// A value with its name, in which dots stand between the steps.
    package struct Field: Sendable {
        package let name: String
        package let type: ValueType

        package init(_ name: String, _ type: ValueType) {
            (self.name, self.type) = (name, type)
        }
    }

    /// The fields, in the order in which messages list them.
    package let fields: [Field]

    package init(_ fields: [Field]) {
        self.fields = fields
    }

    /// The field that a path leads to, or leads through if it is `json`; nil if there is none.
    package func field(at path: PayloadPath) -> Field? {
        let names = path.steps.map { step -> Predicate.Text? in
            if case .member(let name) = step { name } else { nil }
        }
        return fields.first { field in
            let wanted = field.name.utf8.split(separator: UInt8(ascii: "."))
            let isThere = names.count == wanted.count || names.count > wanted.count && field.type == .json
            return isThere
                && zip(names, wanted).allSatisfy { name, wanted in name?.utf8.elementsEqual(wanted) ?? false }
        }
    }

    /// The first fault of a comparison: a path without a field, or a literal that the field cannot be compared with.
    func fault(of comparison: Predicate.Comparison) -> Predicate.Comparison.TypeFault? {
        if isUnknown(comparison.left) { return unknown(.left) }
        if isUnknown(comparison.right) { return unknown(.right) }
        if let quantifier = comparison.quantifier, let field = scalar(comparison.left) {
            let message = "\(field.name) is no array, which \(quantifier.rawValue) wants"
            return .init(side: .left, code: .collectionRequired, message: message)
        }
        for (operand, other, side) in [
            (comparison.left, comparison.right, Predicate.Comparison.TypeFault.Side.right),
            (comparison.right, comparison.left, .left),
        ] {
            guard let field = scalar(operand) else { continue }
            if let message = field.fault(comparison.operation, with: other) {
                return .init(side: side, code: .typeMismatch, message: message)
            }
        }
        return nil
    }

    /// The field of an operand, if it is one with a type of its own.
    private func scalar(_ operand: Predicate.Operand) -> Field? {
        guard case .path(let path) = operand, let field = field(at: path), field.type != .json else { return nil }
        return field
    }

    /// Whether an operand has a path to no field.
    private func isUnknown(_ operand: Predicate.Operand) -> Bool {
        switch operand {
        case .path(let path): field(at: path) == nil
        case .aggregate(let elements): elements.contains(where: isUnknown)
        default: false
        }
    }

    private func unknown(_ side: Predicate.Comparison.TypeFault.Side) -> Predicate.Comparison.TypeFault {
        let names = fields.map(\.name).joined(separator: ", ")
        return .init(side: side, code: .keyPathNotAllowed, message: "there is no such value; there are: \(names)")
    }
}

extension KeyPathSchema.Field {
    /// The reason why an operator makes no sense between the field and a literal; nil if it does.
    fileprivate func fault(_ operation: Predicate.Operator, with other: Predicate.Operand) -> String? {
        switch operation {
        case .like, .beginsWith, .endsWith, .contains:
            if type == .number || type == .boolean { return "\(name) is \(noun), which has no parts" }
            return nil
        case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual: return fault(with: other, operation)
        case .between, .isIn:
            guard case .aggregate(let elements) = other else { return nil }
            return elements.lazy.compactMap { fault(with: $0, operation) }.first
        }
    }

    private func fault(with literal: Predicate.Operand, _ operation: Predicate.Operator) -> String? {
        switch (type, literal) {
        case (_, .null), (_, .path), (_, .subject), (.json, _), (.text, .text), (.number, .number),
            (.boolean, .boolean):
            return nil
        case (.choice(let texts), .text(let text)):
            guard [.equal, .notEqual, .isIn].contains(operation),
                !texts.contains(where: { $0.utf8.elementsEqual(text.utf8) })
            else { return nil }
            return "\(name) is never '\(text.string)'; it is one of: \(texts.joined(separator: ", "))"
        default: return "\(name) is \(noun)"
        }
    }

    private var noun: String {
        switch type {
        case .text, .choice: "a string"
        case .number: "a number"
        case .boolean: "TRUE or FALSE"
        case .json: "a value"
        }
    }
}
