import RouterPlugin

/// The sources and the resource sets of all applications. Nothing else in memory depends on them.
struct ResourceCatalog: Sendable {
    private(set) var sources: [SourceID: SourceDefinition] = [:]
    /// The bytes of each source, which is long to count.
    private var bytes: [SourceID: Int] = [:]
    private(set) var sets: [String: ResourceSet] = [:]

    init() {}

    // MARK: Applying

    /// Puts a source; returns by how many bytes the registrations of its application grow.
    @discardableResult
    mutating func put(_ source: SourceDefinition) -> Int {
        sources[source.id] = source
        let after = source.registeredBytes
        return after - (bytes.updateValue(after, forKey: source.id) ?? 0)
    }

    mutating func put(_ set: ResourceSet) { sets[set.name] = set }

    /// Removes a source; returns its application and its bytes, or nil if there is none.
    mutating func remove(_ id: SourceID) -> (application: ApplicationID, bytes: Int)? {
        guard let source = sources.removeValue(forKey: id) else { return nil }
        return (source.application, bytes.removeValue(forKey: id) ?? 0)
    }

    /// Takes out the sources of an application.
    @discardableResult
    mutating func takeSources(of application: ApplicationID) -> [SourceDefinition] {
        if sources.isEmpty { return [] }
        let taken = sources.values.filter { $0.application == application }
        for source in taken { _ = remove(source.id) }
        return taken
    }

    // MARK: Planning

    /// Puts a source of an application.
    func put(
        _ draft: SourceDraft, of tenant: Tenant, within limits: RegistrationLimits, in plan: inout PlanDraft
    ) {
        var source = draft.definition
        let existing = sources[source.id]
        if let existing, existing.application != source.application {
            return plan.refuse(.source(.taken(source.id)))
        }
        if existing == nil {
            let count = sources.values.count { $0.application == source.application }
            guard count < RouterLimits.sourcesPerApplication else {
                return plan.refuse(.source(.tooMany(limit: RouterLimits.sourcesPerApplication)))
            }
        }
        source.secrets = draft.secrets ?? Self.kept(existing?.secrets ?? [], at: plan.time)
        guard source.secrets.count <= RouterLimits.secretsPerSource else {
            return plan.refuse(.source(.secrets(limit: RouterLimits.secretsPerSource)))
        }
        if existing != source {
            let growth = source.registeredBytes - (bytes[source.id] ?? 0)
            if let refusal = limits.exceeded(byGrowth: growth, of: tenant) { return plan.refuse(refusal) }
            plan.changes.append(.putSource(source))
        }
        plan.reply = .source(source, created: existing == nil)
        plan.reads += [.application(source.application), .source(source.id), .sources]
    }

    /// The secrets that a source keeps. Where all of them have ended they stay, for a source without a secret would no longer
    /// verify its sender.
    private static func kept(_ secrets: [SigningKey], at now: Timestamp) -> [SigningKey] {
        let good = secrets.filter { !$0.hasEnded(at: now) }
        return good.isEmpty ? secrets : good
    }

    func delete(_ id: SourceID, in plan: inout PlanDraft) {
        guard sources[id] != nil else { return plan.refuse(.source(.unknown(id))) }
        plan.changes.append(.deleteSource(id))
        plan.reply = .deleted
        plan.reads.append(.source(id))
    }

    /// Gives a source a new secret. The secrets that it has are good for the overlap, unless they end before.
    func rotate(
        _ id: SourceID, secret: String, overlapSeconds: Int, once: RepeatableRequest?, in plan: inout PlanDraft
    ) throws(MissingFacts) {
        guard var source = sources[id] else { return plan.refuse(.source(.unknown(id))) }
        plan.reads += [.source(id), .application(source.application)]
        if let once { plan.reads.append(.dedupe(once.key)) }
        if let once, let kept = try plan.facts.keptAnswer(for: once.key) {
            let isSame = kept == .request(fingerprint: once.fingerprint)
            plan.reply = isSame ? .source(source, created: false) : .refused(.idempotencyConflict)
            return
        }
        let end = plan.time.advanced(byMilliseconds: Int64(overlapSeconds) * 1000)
        let good = source.secrets.filter { !$0.hasEnded(at: plan.time) && !$0.secret.isSame(as: secret) }
        let kept = good.map { key in
            var key = key
            // A secret whose window begins later is not touched: its window must not become empty.
            if !key.hasEnded(at: end), key.notBefore.map({ $0 < end }) ?? true { key.notAfter = end }
            return key
        }
        source.secrets = (overlapSeconds > 0 ? kept : []) + [SigningKey(secret)]
        guard source.secrets.count <= RouterLimits.secretsPerSource else {
            return plan.refuse(.source(.secrets(limit: RouterLimits.secretsPerSource)))
        }
        plan.changes.append(.putSource(source))
        plan.reply = .source(source, created: false)
        if let once {
            plan.changes.append(.keepAnswer(once.key, .request(fingerprint: once.fingerprint), at: plan.time))
        }
    }
}
