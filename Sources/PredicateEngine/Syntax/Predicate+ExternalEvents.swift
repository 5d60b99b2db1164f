extension Predicate {
    /// The predicate that stands for a set of SwiftUI's `handlesExternalEvents(matching:)`,
    /// `handlesExternalEvents(preferring:allowing:)` and their kin.
    ///
    /// The set matches a content identifier that *contains* any member, ignoring case and diacritics.
    /// The member `"*"`, exactly that, matches everything, even the absent identifier; there are no other
    /// wildcards. Empty members match nothing. The order of the members is kept, repeated ones are dropped.
    ///
    /// - Parameter identifiers: The members of the set.
    /// - Returns: `TRUEPREDICATE` if the set has the member `"*"`; else `SELF CONTAINS[cd]` each member that is
    ///   not empty, joined by `OR`; `FALSEPREDICATE` if none is left.
    /// - Throws: A limit that the predicate would break. The span is empty: there is no text to point into.
    public static func matchingExternalEvents(_ identifiers: [String]) throws(PredicateError) -> Predicate {
        let nowhere = SourceSpan(offset: 0, length: 0)
        let members = identifiers.map { Text(utf8: Array($0.utf8)) }
        if members.contains(Text(utf8: [UInt8(ascii: "*")])) { return .alwaysTrue }

        var seen: Set<Text> = []
        var terms: [Tree] = []
        for member in members where !member.utf8.isEmpty && seen.insert(member).inserted {
            guard member.utf8.count <= PredicateLimits.literalBytes else {
                let length = member.utf8.count
                let message = "an identifier takes \(length) bytes; the limit is \(PredicateLimits.literalBytes)"
                throw PredicateError(.literalTooLong, message, at: nowhere)
            }
            terms.append(
                .comparison(
                    Comparison(
                        left: .subject,
                        operation: .contains,
                        options: [.caseInsensitive, .diacriticInsensitive],
                        right: .text(member)
                    )
                )
            )
        }
        // No check of the number of nodes: the limit on the canonical text is reached long before.
        switch terms.count {
        case 0: return .alwaysFalse
        case 1: return try Predicate(root: terms[0], span: nowhere)
        default: return try Predicate(root: .or(terms), span: nowhere)
        }
    }
}
