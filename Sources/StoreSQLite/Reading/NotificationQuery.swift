import Router
import RouterPlugin

/// The statements behind a list of notifications, and behind what a replay comes to next.
///
///     newest ◀──────────────────────────────────────────────────▶ oldest
///     recent part: the table's own rows   │   listed part: segments, and in each the entries of one term
///                          `listed_segments` of the ledger
///
/// The order within and between the parts is that of acceptance, so nothing is sorted. The way in is named, not left to
/// SQLite's planner: the database keeps no statistics, and a guess that was right with ten rows must not be wrong with
/// ten million. SQLite refuses to prepare a statement whose named index cannot serve it.
struct NotificationQuery {
    /// One statement and the values of its parameters.
    struct Part {
        let sql: String
        fileprivate let values: [Value]

        /// - Parameter limit: The most rows, for a statement with `LIMIT`; nil for the others.
        func bind(_ binder: inout ArgumentBinder, limit: Int?) {
            for value in values {
                switch value {
                case .text(let text): binder.bind(text)
                case .number(let number): binder.bind(number)
                }
            }
            if let limit { binder.bind(max(0, limit)) }
        }
    }

    /// In the order of the list.
    let parts: [Part]

    /// Notifications that the filter shows, newest first.
    init(_ filter: NotificationFilter, select columns: String = NotificationReader.columns) {
        parts = Self.parts(
            Access(filter), select: columns, order: "DESC", Condition(filter), Bounds(before: filter.before, filter))
    }

    /// The number of notifications that were settled by that time, without events, and the first and the last of them.
    init(tallying filter: NotificationFilter, settledBy time: Timestamp) {
        var condition = Condition(filter)
        condition.add("settled_at <= ?", time.milliseconds)
        condition.terms.append("event IS NULL")
        parts = Self.parts(
            Access(filter), select: "count(*), min(notification.sequence), max(notification.sequence)", order: nil,
            condition, Bounds(before: filter.before, filter))
    }

    /// All notifications after the replay's position that the narrowest term alone leaves, oldest first. The other terms
    /// are left to the reader: a statement with them would look at any number of rows to find one.
    init(_ replay: Replay) {
        let access = Access(replay.filter)
        var condition = Condition()
        switch access {
        case .outcome:
            condition.add("application = ?", replay.filter.application?.text)
            condition.add("state = ?", replay.filter.state?.rawValue)
        case .state(let state): condition.add("state = ?", state.rawValue)
        default: break
        }
        parts = Self.parts(
            access == .segments ? .table : access, select: NotificationReader.columns, order: "ASC", condition,
            Bounds(after: replay.position, through: replay.through)
        ).reversed()
    }

    // MARK: - Statements

    /// The recent part first.
    private static func parts(
        _ access: Access, select: String, order: String?, _ condition: Condition, _ bounds: Bounds
    ) -> [Part] {
        func part(_ from: String, ordered: [String], _ conditions: [Condition]) -> Part {
            let terms = conditions.flatMap(\.terms)
            let place = terms.isEmpty ? "" : " WHERE \(terms.joined(separator: " AND "))"
            let end = order.map { order in
                " ORDER BY \(ordered.map { "\($0) \(order)" }.joined(separator: ", ")) LIMIT ?"
            }
            return Part(
                sql: "SELECT \(select) FROM \(from)\(place)\(end ?? "")", values: conditions.flatMap(\.values))
        }
        let row = "notification.sequence"
        func recent(_ condition: Condition) -> Part {
            var start = Condition()
            start.terms.append("notification.sequence >= (SELECT listed_segments << 10 FROM ledger)")
            return part("notification NOT INDEXED", ordered: [row], [start, bounds.sequences(row), condition])
        }
        switch access {
        case .table:
            return [part("notification NOT INDEXED", ordered: [row], [condition, bounds.sequences(row)])]
        case .state:
            let from = "notification INDEXED BY notification_by_state"
            return [part(from, ordered: [row], [condition, bounds.sequences(row)])]
        case .outcome:
            var outcome = condition
            // The very words of the index, for SQLite to see that the index has all such rows.
            outcome.terms.append(Migrations.isOutcome)
            let from = "notification INDEXED BY notification_by_outcome"
            return [part(from, ordered: [row], [outcome, bounds.sequences(row)])]
        case .segments:
            let from = """
                segment CROSS JOIN notification NOT INDEXED
                  ON notification.sequence >= number << 10 AND notification.sequence < (number + 1) << 10
                """
            let listed = [bounds.segments, condition, bounds.sequences(row)]
            return [recent(condition), part(from, ordered: ["number", row], listed)]
        case .entries(let term):
            let from = """
                segment CROSS JOIN list_entry ON segment = number
                  CROSS JOIN notification ON notification.sequence = list_entry.sequence
                """
            var entry = Condition()
            switch term {
            case .exact(let text): entry.add("term = ?", text)
            case .prefix(let start):
                entry.add("term >= ?", start)
                entry.add("term < ?", ListTerm.end(ofPrefix: start))
            }
            let listed = [bounds.segments, entry, bounds.sequences("list_entry.sequence"), condition]
            return [recent(condition), part(from, ordered: ["number", "list_entry.sequence"], listed)]
        }
    }

    fileprivate enum Value {
        case text(String)
        case number(Int64)
    }

    /// The way in that leaves the fewest rows, as a rule.
    private enum Access: Equatable {
        case entries(ListTerm)
        case state(NotificationState)
        /// The notifications of one application in a state that few are in.
        case outcome
        /// Segments by their times.
        case segments
        case table

        /// Most notifications end as delivered, so that state is the last to narrow a list down.
        init(_ filter: NotificationFilter) {
            if filter.broadcast != nil {
                self = .table
            } else if let narrow = Self.narrow(filter) {
                self = narrow
            } else if let application = filter.application {
                self = .entries(.application(application))
            } else if filter.since != nil || filter.until != nil {
                self = .segments
            } else if let state = filter.state {
                self = .state(state)
            } else {
                self = .table
            }
        }

        private static func narrow(_ filter: NotificationFilter) -> Access? {
            func entries(_ letter: String, _ value: String) -> Access {
                .entries(ListTerm(letter, value, of: filter.application))
            }
            if let content = filter.contentID { return entries("c", content.text) }
            if let session = filter.session { return entries("s", session.text) }
            switch filter.type {
            case .event(let kind): return entries("e", kind.rawValue)
            case .notification(let kind) where kind != .notification: return entries("k", kind.rawValue)
            default: break
            }
            guard let state = filter.state, state != .delivered else { return nil }
            // The index of states has the rows of all tenants: one of them must not wait for those of others.
            guard filter.application != nil else { return .state(state) }
            return state == .waiting ? nil : .outcome
        }
    }

    /// Terms that must all hold, with the values of their parameters in the same order.
    private struct Condition {
        var terms: [String] = []
        var values: [Value] = []

        init() {}

        init(_ filter: NotificationFilter) {
            add("application = ?", filter.application?.text)
            add("state = ?", filter.state?.rawValue)
            add("session = ?", filter.session?.text)
            add("content_id = ?", filter.contentID?.text)
            switch filter.type {
            case nil: break
            case .notification(.notification): terms += ["event IS NULL", "kind IS NULL"]
            case .notification(let kind): add("kind = ?", kind.rawValue)
            case .event(let kind): add("event = ?", kind.rawValue)
            }
            add("received_at >= ?", filter.since?.milliseconds)
            add("received_at < ?", filter.until?.milliseconds)
            add("broadcast = ?", filter.broadcast?.first.text)
            if filter.broadcast != nil { terms.append("replay_of IS NULL") }
        }

        mutating func add(_ term: String, _ text: String?) {
            if let text { terms.append(term); values.append(.text(text)) }
        }
        mutating func add(_ term: String, _ number: Int64?) {
            if let number { terms.append(term); values.append(.number(number)) }
        }
    }

    /// The sequences and times that a query is restricted to.
    private struct Bounds {
        var before: Int64?
        var after: Int64?
        var through: Int64?
        var since: Int64?
        var until: Int64?

        init(before: NotificationSequence?, _ filter: NotificationFilter) {
            self.before = before?.value
            after = filter.broadcast.map { $0.sequences.lowerBound.value - 1 }
            through = filter.broadcast?.sequences.upperBound.value
            since = filter.since?.milliseconds
            until = filter.until?.milliseconds
        }

        init(after: NotificationSequence, through: NotificationSequence) {
            self.after = after.value
            self.through = through.value
        }

        func sequences(_ column: String) -> Condition {
            var condition = Condition()
            condition.add("\(column) < ?", before)
            condition.add("\(column) > ?", after)
            condition.add("\(column) <= ?", through)
            return condition
        }

        /// Segments that hold such sequences and times.
        var segments: Condition {
            var condition = Condition()
            condition.add("number <= ?", (before ?? through).map { $0 >> StoreSQLiteLimits.segmentBits })
            condition.add("number >= ?", after.map { $0 >> StoreSQLiteLimits.segmentBits })
            condition.add("latest >= ?", since)
            condition.add("earliest < ?", until)
            return condition
        }
    }
}
