import RouterPlugin

extension ResourceSetDraft {
    /// The resources with their places in the request, in the order in which they are made: applications, sessions, sources.
    var inOrder: [(place: Int, resource: ResourceDraft)] {
        let order: [ResourceRef.Kind] = [.application, .session, .source]
        let sorted = resources.enumerated().sorted { left, right in
            let places = (
                order.firstIndex(of: left.element.ref.kind) ?? 0, order.firstIndex(of: right.element.ref.kind) ?? 0
            )
            return places.0 == places.1 ? left.offset < right.offset : places.0 < places.1
        }
        return sorted.map { (place: $0.offset, resource: $0.element) }
    }

    var members: Set<ResourceRef> { Set(resources.map(\.ref)) }
}

extension ResourceCatalog {
    /// Whether a set holds the resource.
    func holds(_ ref: ResourceRef, in name: String) -> Bool { sets[name]?.members.contains(ref) == true }

    /// Members that the set no longer names and no other set holds: sources and sessions before their applications.
    func obsoleteMembers(of name: String, keeping members: Set<ResourceRef>) -> [ResourceRef] {
        let others = sets.values.filter { !$0.name.isSame(as: name) }
        let obsolete = (sets[name]?.members ?? []).subtracting(members).filter { ref in
            !others.contains { $0.members.contains(ref) }
        }
        return obsolete.sorted { left, right in
            let isApplication = (left.kind == .application, right.kind == .application)
            return isApplication.0 == isApplication.1 ? left < right : isApplication.1
        }
    }

    /// All sources of an application, in no order.
    func sources(of application: ApplicationID) -> [ResourceRef] {
        sources.values.filter { $0.application == application }.map { ResourceRef(.source, application, $0.id.text) }
    }

    /// Adds the membership after a set was applied. Without pruning, earlier members stay the set's.
    func keepMembers(of draft: ResourceSetDraft, in plan: inout PlanDraft) {
        let kept = draft.prunes ? draft.members : draft.members.union(sets[draft.name]?.members ?? [])
        if sets[draft.name]?.members != kept {
            plan.changes.append(.putResourceSet(ResourceSet(name: draft.name, members: kept)))
        }
        plan.reads.append(.resourceSets)
    }
}

extension ResourceRef {
    /// The command that deletes the resource.
    var deletion: Command {
        switch kind {
        case .application: .deleteApplication(application)
        case .session: .deleteSession(SessionKey(application: application, session: SessionID(unchecked: id)))
        case .source: .deleteSource(SourceID(unchecked: id))
        }
    }
}

extension ResourceDraft {
    /// The command that makes the resource. It leaves the live state of an existing session alone, and the data of a person
    /// while the gate is closed.
    func command(replacing before: ResourceValue?, in tenant: Tenant?) -> Command {
        switch self {
        case .application(let draft): return .putApplication(draft)
        case .source(let draft): return .putSource(draft)
        case .session(let key, var draft):
            guard case .session(let session)? = before else {
                if tenant?.isCovered(draft.device) == true {
                    (draft.userInfo, draft.stateRestorationActivity) = (nil, nil)
                }
                return .putSession(key, draft)
            }
            var patch = SessionPatch(specifying: draft, of: session)
            if tenant?.isCovered(session) == true { (patch.userInfo, patch.stateRestorationActivity) = (nil, nil) }
            return .patchSession(key, patch)
        }
    }
}

extension SessionPatch {
    /// A patch with everything that a draft specifies, and nothing of the session's live state.
    fileprivate init(specifying draft: SessionDraft, of session: SceneSession) {
        self.init()
        isSpecification = true
        var known = session
        known.leaveDemo()
        // The demo that a session shows goes on, unless the configuration that it returns to is another one.
        let isSame =
            draft.role.isSame(as: session.role)
            && draft.configuration?.isSame(as: known.configuration) ?? true
        if !session.isInDemo || !isSame { (role, configuration) = (draft.role, draft.configuration) }
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
        if let specified = draft.userInfo, !session.userInfo.value.holds(specified) { userInfo = specified }
        stateRestorationActivity = draft.stateRestorationActivity
        leaseSeconds = draft.leaseSeconds.map { .set($0) } ?? .remove
        observers = .set(draft.observers)
        whileAway = draft.whileAway.map { .set($0) } ?? .remove
    }
}

extension Plan {
    /// The resource as the plan leaves it; nil if the plan does not change it.
    func value(of ref: ResourceRef) -> ResourceValue? {
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
    func isSameSpecification(as other: ResourceValue?) -> Bool {
        guard case .session(var left)? = self, case .session(var right)? = other else { return self == other }
        left.leaveDemo()
        right.leaveDemo()
        right.activationState = left.activationState
        right.leaseExpiresAt = left.leaseExpiresAt
        right.lastActivatedAt = left.lastActivatedAt
        right.disabled = left.disabled
        right.connection = left.connection
        return left == right
    }
}

extension JSONValue {
    /// Whether this value has each member of another object, and equals any other value.
    fileprivate func holds(_ other: JSONValue) -> Bool {
        guard case .object(let object) = self, case .object(let wanted) = other else { return self == other }
        return wanted.members.allSatisfy { object[$0.key]?.holds($0.value) == true }
    }
}
