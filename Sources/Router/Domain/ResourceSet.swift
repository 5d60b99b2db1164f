package import RouterPlugin

/// The name of a resource that a set may hold.
package struct ResourceRef: Hashable, Comparable, Sendable, CustomStringConvertible {
    package enum Kind: String, CaseIterable, Hashable, Sendable {
        case application = "Application"
        case session = "Session"
        case source = "Source"
    }

    package var kind: Kind
    package var application: ApplicationID
    /// The resource's own name; an application's is its id.
    package var id: String

    package init(_ kind: Kind, _ application: ApplicationID, _ id: String) {
        self.kind = kind
        self.application = application
        self.id = id
    }

    package var description: String { "\(kind.rawValue) \(kind == .session ? "\(application)/" : "")\(id)" }

    package static func < (left: Self, right: Self) -> Bool {
        (left.kind.rawValue, left.application.text, left.id) < (right.kind.rawValue, right.application.text, right.id)
    }
}

/// The resources that were applied together under a name. Pruning deletes those that the set no longer names.
package struct ResourceSet: Hashable, Sendable {
    package var name: String
    package var members: Set<ResourceRef>

    package init(name: String, members: Set<ResourceRef>) {
        self.name = name
        self.members = members
    }
}

/// A resource as a set specifies it.
package enum ResourceDraft: Sendable {
    case application(ApplicationDraft)
    case session(SessionKey, SessionDraft)
    case source(SourceDraft)

    package var ref: ResourceRef {
        switch self {
        case .application(let draft): ResourceRef(.application, draft.application.id, draft.application.id.text)
        case .session(let key, _): ResourceRef(.session, key.application, key.session.text)
        case .source(let draft): ResourceRef(.source, draft.definition.application, draft.definition.id.text)
        }
    }
}

/// A stored resource.
package enum ResourceValue: Hashable, Sendable {
    case application(Application)
    case session(SceneSession)
    case source(SourceDefinition)
}

/// A set to apply.
package struct ResourceSetDraft: Sendable {
    package var name: String
    package var resources: [ResourceDraft]
    /// The rules that take the place of those in use; nil leaves those.
    package var rules: RuleSetDraft?
    /// Whether resources that the set held before, and no longer names, are deleted.
    package var prunes: Bool
    /// Whether nothing is changed.
    package var isDryRun: Bool

    package init(
        name: String, resources: [ResourceDraft], rules: RuleSetDraft? = nil, prunes: Bool, isDryRun: Bool
    ) {
        self.name = name
        self.resources = resources
        self.rules = rules
        self.prunes = prunes
        self.isDryRun = isDryRun
    }
}

/// The change of one resource by a set.
package struct AppliedResource: Sendable {
    package var ref: ResourceRef
    /// Nil if the resource is new.
    package var before: ResourceValue?
    /// Nil if the resource is deleted.
    package var after: ResourceValue?
    /// Whether the resource existed before and did not belong to the set.
    package var isAdopted = false
}

/// The change of the rules by a set.
package struct AppliedRules: Sendable {
    /// Nil if there were none.
    package var before: KeptRules?
    package var after: KeptRules
}

/// A number of resources, and the first few of them by name.
package struct ResourceSample: Hashable, Sendable {
    package let count: Int
    package let first: [ResourceRef]

    package init(_ resources: [ResourceRef]) {
        count = resources.count
        first = resources.reduce(into: []) { first, ref in
            guard first.count < RouterLimits.resourcesNamed || first.contains(where: { ref < $0 }) else { return }
            first = Array((first + [ref]).sorted().prefix(RouterLimits.resourcesNamed))
        }
    }
}
