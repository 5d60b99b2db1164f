import RouterPlugin

/// API keys created by requests. Nothing else in memory depends on them.
struct KeyTable: Sendable {
    private(set) var keys: [String: APIKey] = [:]

    mutating func put(_ key: APIKey) { keys[key.name] = key }

    mutating func remove(_ name: String) { keys[name] = nil }

    /// - Parameter manager: Limits the change to the keys of an application; nil for no limit.
    func put(_ draft: APIKeyDraft, by manager: ApplicationID?, in plan: inout PlanDraft) {
        let existing = keys[draft.id.text]
        if let existing, manager != nil, existing.application != manager {
            return plan.refuse(.key(.taken(draft.id)))
        }
        let digest = draft.digest ?? existing?.digest ?? draft.freshDigest
        let others = keys.values.filter { $0.name != draft.id.text }
        if others.contains(where: { $0.digest == digest }) { return plan.refuse(.key(.digestTaken)) }
        guard others.count(where: { $0.application == draft.application }) < RouterLimits.keysPerApplication else {
            return plan.refuse(.key(.tooMany(limit: RouterLimits.keysPerApplication)))
        }
        let key = APIKey(
            name: draft.id.text, digest: digest, scopes: draft.scopes, application: draft.application,
            requestsPerSecond: draft.requestsPerSecond, createdAt: existing?.createdAt ?? plan.time)
        if existing != key { plan.changes.append(.putKey(key)) }
        plan.reply = .key(key, created: existing == nil)
        plan.reads.append(.keys)
    }

    func delete(_ id: APIKeyID, by manager: ApplicationID?, in plan: inout PlanDraft) {
        guard let existing = keys[id.text], manager == nil || existing.application == manager else {
            return plan.refuse(.key(.unknown(id)))
        }
        plan.changes.append(.deleteKey(name: existing.name))
        plan.reply = .deleted
        plan.reads.append(.keys)
    }
}
