import RouterPlugin

extension Engine {
    /// The resources of a set in one plan: all of them or none.
    ///
    /// Later resources rely on earlier ones, such as a session on its application. They are planned on a copy of the engine
    /// to which the plans before them have been applied; the copy costs the size of the tenants that the set changes.
    mutating func planApply(
        _ draft: ResourceSetDraft, at now: Timestamp, facts: Facts
    ) throws(MissingFacts) -> Plan {
        var copy = self
        var plan = Plan()
        var applied: [AppliedResource] = []
        let order: [ResourceRef.Kind] = [.application, .session, .source]
        let resources = draft.resources.enumerated().sorted { left, right in
            let places = (
                order.firstIndex(of: left.element.ref.kind) ?? 0, order.firstIndex(of: right.element.ref.kind) ?? 0
            )
            return places.0 == places.1 ? left.offset < right.offset : places.0 < places.1
        }
        for (place, resource) in resources {
            let before = copy.value(of: resource.ref)
            let one = try copy.plan(resource.command(replacing: before), facts, at: now)
            if case .refused(let refusal) = one.reply { return .refused(.resource(place, refusal)) }
            let after = one.value(of: resource.ref) ?? before
            let isAdopted = before != nil && sets[draft.name]?.members.contains(resource.ref) != true
            applied.append(
                AppliedResource(ref: resource.ref, before: before, after: after, isAdopted: isAdopted))
            // A call renews a lease; an unchanged session is left as it is all the same.
            if before.isSameSpecification(as: after) { continue }
            copy.take(one, at: now, into: &plan)
        }
        let members = Set(draft.resources.map(\.ref))
        if draft.prunes {
            let obsolete = copy.obsoleteMembers(of: draft.name, keeping: members)
            let deleted = Set(obsolete)
            for ref in obsolete where ref.kind == .application {
                let others = copy.contents(of: ref.application).filter { !deleted.contains($0) }
                guard others.isEmpty else { return .refused(.applicationNotEmpty(ref.application, .init(others))) }
            }
            for ref in obsolete {
                guard let before = copy.value(of: ref) else { continue }
                let one = try copy.plan(ref.deletion, facts, at: now)
                if case .refused(let refusal) = one.reply { return .refused(refusal) }
                applied.append(AppliedResource(ref: ref, before: before, after: nil))
                copy.take(one, at: now, into: &plan)
            }
        }
        plan.reply = .applied(applied)
        guard !draft.isDryRun else { return Plan(reply: plan.reply) }
        // Without pruning, earlier members stay the set's.
        let kept = draft.prunes ? members : members.union(sets[draft.name]?.members ?? [])
        if sets[draft.name]?.members != kept {
            plan.changes.append(.putResourceSet(ResourceSet(name: draft.name, members: kept)))
        }
        plan.reads.append(.resourceSets)
        plan.writes.append(.resourceSets)
        ids = copy.ids
        return plan
    }

    /// Applies a plan to this copy, and adds it to the plan of the set.
    private mutating func take(_ one: Plan, at now: Timestamp, into plan: inout Plan) {
        _ = apply(one.changes, at: now)
        plan.changes += one.changes
        plan.reads += one.reads
        plan.writes += one.writes
    }

    /// Members that the set no longer names and no other set holds: sources and sessions before their applications.
    private func obsoleteMembers(of name: String, keeping members: Set<ResourceRef>) -> [ResourceRef] {
        let others = sets.values.filter { !$0.name.isSame(as: name) }
        let obsolete = (sets[name]?.members ?? []).subtracting(members).filter { ref in
            !others.contains { $0.members.contains(ref) }
        }
        return obsolete.sorted { left, right in
            let isApplication = (left.kind == .application, right.kind == .application)
            return isApplication.0 == isApplication.1 ? left < right : isApplication.1
        }
    }

    /// All sessions and sources of an application, in no order.
    private func contents(of application: ApplicationID) -> [ResourceRef] {
        let sessions =
            tenants[application]?.sessions.values.map { ResourceRef(.session, application, $0.key.session.text) } ?? []
        let sources = sources.values.filter { $0.application == application }.map {
            ResourceRef(.source, application, $0.id.text)
        }
        return sessions + sources
    }

    /// The resource as it is now; nil if there is none, or if it is another application's.
    package func value(of ref: ResourceRef) -> ResourceValue? {
        switch ref.kind {
        case .application: tenants[ref.application].map { .application($0.application) }
        case .session:
            session(SessionKey(application: ref.application, session: SessionID(unchecked: ref.id))).map {
                .session($0)
            }
        case .source:
            sources[SourceID(unchecked: ref.id)].flatMap { $0.application == ref.application ? .source($0) : nil }
        }
    }
}

extension ResourceRef {
    fileprivate var deletion: Command {
        switch kind {
        case .application: .deleteApplication(application)
        case .session: .deleteSession(SessionKey(application: application, session: SessionID(unchecked: id)))
        case .source: .deleteSource(SourceID(unchecked: id))
        }
    }
}

extension ResourceDraft {
    /// The command that makes the resource. The live state of a session that is there is left alone.
    fileprivate func command(replacing before: ResourceValue?) -> Command {
        switch self {
        case .application(let draft): return .putApplication(draft)
        case .source(let draft): return .putSource(draft)
        case .session(let key, let draft):
            guard case .session(let session)? = before else { return .putSession(key, draft) }
            return .patchSession(key, SessionPatch(specifying: draft, of: session))
        }
    }
}

extension SessionPatch {
    /// A patch that says all that a draft specifies, and nothing of the session's live state.
    fileprivate init(specifying draft: SessionDraft, of session: SceneSession) {
        self.init()
        role = draft.role
        configuration = draft.configuration
        device = draft.device.map { .set($0) } ?? .remove
        canActivate = .set(draft.conditions.canActivate)
        prefersToActivate = .set(draft.conditions.prefersToActivate)
        preferenceLevel = .set(draft.conditions.preferenceLevel)
        endpoint =
            draft.endpoint.map {
                .set(
                    EndpointPatch(
                        url: $0.url, keys: $0.keys.map { .set($0) }, freshSecret: $0.freshSecret,
                        format: .set($0.format)))
            } ?? .remove
        // A null takes a member away, but not from a session that was made with it.
        if !session.userInfo.value.holds(draft.userInfo) { userInfo = draft.userInfo }
        stateRestorationActivity = draft.stateRestorationActivity
        leaseSeconds = draft.leaseSeconds.map { .set($0) } ?? .remove
        observers = .set(draft.observers)
    }
}

extension Plan {
    /// The resource as the plan leaves it; nil if the plan does not change it.
    fileprivate func value(of ref: ResourceRef) -> ResourceValue? {
        for change in changes.reversed() {
            switch (change, ref.kind) {
            case (.putApplication(let application), .application): return .application(application)
            case (.putSession(let session), .session) where session.key.session.text.isSame(as: ref.id):
                return .session(session)
            case (.putSource(let source), .source): return .source(source)
            default: continue
            }
        }
        return nil
    }
}

extension ResourceValue? {
    /// Whether both are specified alike: for sessions their live state does not count.
    fileprivate func isSameSpecification(as other: ResourceValue?) -> Bool {
        guard case .session(let left)? = self, case .session(var right)? = other else { return self == other }
        right.activationState = left.activationState
        right.leaseExpiresAt = left.leaseExpiresAt
        right.lastActivatedAt = left.lastActivatedAt
        right.disabled = left.disabled
        right.connection = left.connection
        return left == right
    }
}

extension JSONValue {
    /// Whether all that another value says stands in this one: each member of its objects, and any other value as it is.
    fileprivate func holds(_ other: JSONValue) -> Bool {
        guard case .object(let object) = self, case .object(let wanted) = other else { return self == other }
        return wanted.members.allSatisfy { object[$0.key]?.holds($0.value) == true }
    }
}
