import RouterPlugin

/// Plans the resources of a set in one plan: all of them or none.
///
/// Later resources rely on earlier ones, such as a session on its application. They are planned on a copy of the engine to
/// which the plans before them have been applied; the copy costs the size of the tenants that the set changes.
struct SetPlanner {
    private var engine: Engine
    private let draft: ResourceSetDraft
    /// The catalog before the set.
    private let catalog: ResourceCatalog
    private var applied: [AppliedResource] = []

    init(engine: Engine, draft: ResourceSetDraft) {
        self.engine = engine
        self.draft = draft
        catalog = engine.catalog
    }

    /// Adds the set to a plan, or refuses it with the place of the resource that stands against it.
    consuming func apply(in plan: inout PlanDraft) throws(MissingFacts) {
        for (place, resource) in draft.inOrder {
            if let refusal = try put(resource, in: &plan) { return plan.refuse(.resource(place, refusal)) }
        }
        if draft.prunes, let refusal = try prune(in: &plan) { return plan.refuse(refusal) }
        let rules = try useRules(in: &plan)
        if draft.isDryRun { plan = PlanDraft(plan.facts, naming: plan.ids, at: plan.time) }
        plan.reply = .applied(applied, rules)
        guard !draft.isDryRun else { return }
        plan.ids = engine.ids
        catalog.keepMembers(of: draft, in: &plan)
    }

    /// Makes a resource as it is specified, or leaves it if it is so already; returns the refusal if it cannot be made.
    private mutating func put(_ resource: ResourceDraft, in plan: inout PlanDraft) throws(MissingFacts) -> Refusal? {
        let before = engine.value(of: resource.ref)
        let command = resource.command(replacing: before, in: engine.tenants[resource.ref.application])
        let one = try engine.plan(command, plan.facts, at: plan.time)
        if case .refused(let refusal) = one.reply { return refusal }
        let after = one.value(of: resource.ref) ?? before
        let isAdopted = before != nil && !catalog.holds(resource.ref, in: draft.name)
        applied.append(AppliedResource(ref: resource.ref, before: before, after: after, isAdopted: isAdopted))
        // A call renews a lease; an unchanged session is left as it is all the same.
        if !before.isSameSpecification(as: after) { take(one, into: &plan) }
        return nil
    }

    /// Uses the rules of the set; returns nil if it has none.
    private mutating func useRules(in plan: inout PlanDraft) throws(MissingFacts) -> AppliedRules? {
        guard let rules = draft.rules else { return nil }
        let before = engine.keptRules
        let one = try engine.plan(.putRules(rules), plan.facts, at: plan.time)
        guard case .rules(let after) = one.reply else { preconditionFailure("A reply to rules: \(one.reply)") }
        take(one, into: &plan)
        return AppliedRules(before: before, after: after)
    }

    /// Deletes the resources that the set no longer names; returns the refusal if one of them has to stay.
    private mutating func prune(in plan: inout PlanDraft) throws(MissingFacts) -> Refusal? {
        let obsolete = engine.catalog.obsoleteMembers(of: draft.name, keeping: draft.members)
        let deleted = Set(obsolete)
        for ref in obsolete where ref.kind == .application {
            let sessions = engine.tenants[ref.application]?.sessions.values.map {
                ResourceRef(.session, ref.application, $0.key.session.text)
            }
            let contents = (sessions ?? []) + engine.catalog.sources(of: ref.application)
            let others = contents.filter { !deleted.contains($0) }
            guard others.isEmpty else { return .applicationNotEmpty(ref.application, .init(others)) }
        }
        for ref in obsolete {
            guard let before = engine.value(of: ref) else { continue }
            let one = try engine.plan(ref.deletion, plan.facts, at: plan.time)
            if case .refused(let refusal) = one.reply { return refusal }
            applied.append(AppliedResource(ref: ref, before: before, after: nil))
            take(one, into: &plan)
        }
        return nil
    }

    /// Applies a plan to the copy, and adds it to the plan of the set.
    private mutating func take(_ one: Plan, into plan: inout PlanDraft) {
        _ = engine.apply(one.changes, at: plan.time)
        plan.add(one)
    }
}
