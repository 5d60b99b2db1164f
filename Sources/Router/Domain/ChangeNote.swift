package import RouterPlugin

/// The author and the subject of a request's change, for the log of changes: no contents, no secrets.
package struct ChangeNote: Hashable, Sendable {
    /// The name of the request's key; nil in development mode.
    package var key: String?
    /// The operation, such as `putSource`.
    package var operation: String
    /// The path of the resource.
    package var resource: String
    /// Nil for a change of no application.
    package var application: ApplicationID?

    package init(key: String?, operation: String, resource: String, application: ApplicationID?) {
        self.key = key
        self.operation = operation
        self.resource = resource
        self.application = application
    }

    /// The applications of a plan's changes, with a line for each. Only a set changes several, or none.
    func applications(of reply: Reply) -> [ApplicationID?] {
        guard case .applied(let resources, let rules) = reply else { return [application] }
        let changed = resources.filter { !$0.before.isSameSpecification(as: $0.after) }.map(\.ref.application)
        let applications: [ApplicationID?] = Set(changed).sorted()
        return applications.isEmpty || rules.map({ $0.before != $0.after }) == true
            ? applications + [nil] : applications
    }
}

/// A line of the log of changes.
package struct LoggedChange: Hashable, Sendable {
    /// Greater than the numbers of all earlier changes.
    package var number: Int64
    package var note: ChangeNote
    package var time: Timestamp

    package init(number: Int64, note: ChangeNote, time: Timestamp) {
        self.number = number
        self.note = note
        self.time = time
    }
}

/// Selects lines of the log of changes.
package struct ChangeFilter: Hashable, Sendable {
    /// Nil for all applications, and for changes of none.
    package var application: ApplicationID?
    /// Bounds of the numbers, both excluded.
    package var after: Int64
    package var before: Int64

    package init(application: ApplicationID? = nil, after: Int64 = 0, before: Int64 = .max) {
        self.application = application
        self.after = after
        self.before = before
    }
}
