/// A value of a payload, as a ``PayloadPredicate`` sees it: JSON with numbers that can be compared.
///
/// Equality and hash are those of the tree: `1` and `1.0`, or `true` and `1`, are different values here and are equal
/// to a predicate. Evaluation recurses as deep as arrays and objects nest.
public enum PayloadValue: Hashable, Sendable {
    /// `null`; a member that is missing has the same value.
    case null
    /// `true` or `false`, which compare with numbers as 1 and 0.
    case boolean(Bool)
    /// A number; `docs/PREDICATES.md` says how numbers of JSON become this.
    case number(Predicate.Number)
    /// A string.
    case text(Predicate.Text)
    /// Values in order.
    case array([PayloadValue])
    /// Members by name.
    case object(PayloadObject)

    /// A string from Swift's.
    public static func string(_ text: String) -> PayloadValue { .text(Predicate.Text(utf8: Array(text.utf8))) }

    /// A whole number.
    public static func integer(_ value: Int64) -> PayloadValue { .number(.integer(value)) }

    /// A number; nil if it is not finite.
    public static func double(_ value: Double) -> PayloadValue? { Predicate.Number(value).map(Self.number) }

    /// Adds the size to a sum, eight for each value and one for each byte of a string or a name, until that exceeds a limit.
    package func addSize(to sum: inout Int, limit: Int) {
        sum += 8
        switch self {
        case .null, .boolean, .number: break
        case .text(let text): sum += text.utf8.count
        case .array(let elements):
            for element in elements where sum <= limit { element.addSize(to: &sum, limit: limit) }
        case .object(let object):
            for member in object.members where sum <= limit {
                sum += member.name.utf8.count
                member.value.addSize(to: &sum, limit: limit)
            }
        }
    }
}

/// The members of an object, sorted by the bytes of their names: a member is found by halving.
/// Two objects with the same members are equal, whatever order the members came in.
///
/// Invariant: names ascend, thus none occurs twice.
public struct PayloadObject: Hashable, Sendable {
    /// A name and its value.
    public struct Member: Hashable, Sendable {
        /// The name.
        public let name: Predicate.Text
        /// The value.
        public let value: PayloadValue
    }

    /// The members, by the bytes of their names.
    public let members: [Member]

    /// Takes members in any order. Of several with the same name the last one stays.
    public init(_ members: [(name: String, value: PayloadValue)]) {
        let sorted = members.enumerated()
            .map {
                (
                    place: $0.offset,
                    member: Member(name: Predicate.Text(utf8: Array($0.element.name.utf8)), value: $0.element.value)
                )
            }
            .sorted {
                let order = $0.member.name.order(to: $1.member.name)
                return order == 0 ? $0.place < $1.place : order < 0
            }
        var kept: [Member] = []
        kept.reserveCapacity(sorted.count)
        for (_, member) in sorted {
            if kept.last?.name == member.name { kept.removeLast() }
            kept.append(member)
        }
        self.members = kept
    }

    /// The value of a name; adds the bytes that are compared to `work`.
    func value(of name: Predicate.Text, _ work: inout Int) -> PayloadValue? {
        var (low, high) = (0, members.count)
        while low < high {
            let middle = (low + high) / 2
            let candidate = members[middle]
            work += min(candidate.name.utf8.count, name.utf8.count) + 1
            let order = candidate.name.order(to: name)
            if order == 0 { return candidate.value }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return nil
    }
}

extension Predicate.Text {
    /// Less than zero if the bytes come before the other's, zero if they are the same.
    fileprivate func order(to other: Predicate.Text) -> Int {
        let (left, right) = (utf8, other.utf8)
        for place in 0..<min(left.count, right.count) where left[place] != right[place] {
            return left[place] < right[place] ? -1 : 1
        }
        return left.count - right.count
    }
}
