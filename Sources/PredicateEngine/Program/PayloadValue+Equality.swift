extension PayloadValue {
    /// The value of a number or a truth value.
    package var number: Predicate.Number? {
        switch self {
        case .number(let number): number
        case .boolean(let value): .integer(value ? 1 : 0)
        default: nil
        }
    }

    /// Whether both are the same by `==` without options: numbers and truth values by their value, strings by their
    /// bytes, arrays and objects part by part. Adds values and bytes that are compared to `work`.
    func isSame(as other: PayloadValue, _ work: inout Int) -> Bool {
        work += 1
        switch (self, other) {
        case (.null, .null): return true
        case (.text(let left), .text(let right)):
            guard left.utf8.count == right.utf8.count else { return false }
            work += left.utf8.count
            return left == right
        case (.array(let left), .array(let right)):
            guard left.count == right.count else { return false }
            for place in left.indices where !left[place].isSame(as: right[place], &work) { return false }
            return true
        case (.object(let left), .object(let right)):
            let (left, right) = (left.members, right.members)
            guard left.count == right.count else { return false }
            for place in left.indices {
                work += left[place].name.utf8.count
                let isSame =
                    left[place].name == right[place].name
                    && left[place].value.isSame(as: right[place].value, &work)
                guard isSame else { return false }
            }
            return true
        default:
            guard let left = number, let right = other.number else { return false }
            return left.isSame(as: right)
        }
    }

    /// Feeds what `isSame` looks at.
    fileprivate func feed(_ hasher: inout Hasher, _ work: inout Int) {
        work += 1
        switch self {
        case .null: hasher.combine(0)
        case .boolean, .number: hasher.combine(number?.normalized)
        case .text(let text):
            work += text.utf8.count
            hasher.combine(text)
        case .array(let elements):
            hasher.combine(elements.count)
            for element in elements { element.feed(&hasher, &work) }
        case .object(let object):
            hasher.combine(object.members.count)
            for member in object.members {
                work += member.name.utf8.count
                hasher.combine(member.name)
                member.value.feed(&hasher, &work)
            }
        }
    }
}

/// The elements of an array for `ANY … IN`, found by their hash: otherwise each element of the one array would be
/// compared with each of the other.
struct PayloadSet {
    private var places: [Int: [PayloadValue]] = [:]

    init(_ elements: [PayloadValue], _ work: inout Int) {
        for element in elements where !contains(element, &work) {
            places[Self.hash(element, &work), default: []].append(element)
        }
    }

    func contains(_ value: PayloadValue, _ work: inout Int) -> Bool {
        guard let candidates = places[Self.hash(value, &work)] else { return false }
        return candidates.contains { $0.isSame(as: value, &work) }
    }

    private static func hash(_ value: PayloadValue, _ work: inout Int) -> Int {
        var hasher = Hasher()
        value.feed(&hasher, &work)
        return hasher.finalize()
    }
}
