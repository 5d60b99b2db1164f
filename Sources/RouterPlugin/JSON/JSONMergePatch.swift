extension JSONValue {
    /// The value after a merge patch as RFC 7396 defines it.
    ///
    /// A patch that is an object sets the members that it names, removes those that it names with null, and leaves the
    /// others in their place; any other patch replaces the whole. The work is linear in the size of both.
    public func merging(patch: JSONValue) -> JSONValue {
        guard case .object(let changes) = patch else { return patch }
        let target = asObject ?? JSONObject()
        var merged = JSONObject()
        for member in target.members {
            switch changes[member.key] {
            case nil: merged.append(member.key, member.value)
            case .null: break
            case let change?: merged.append(member.key, member.value.merging(patch: change))
            }
        }
        for change in changes.members where change.value != .null && target[change.key] == nil {
            // Merging into nothing strips the nulls within.
            merged.append(change.key, JSONValue.null.merging(patch: change.value))
        }
        return .object(merged)
    }
}
