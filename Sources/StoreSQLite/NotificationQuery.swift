import Router
import RouterPlugin

/// The statement behind a list of notifications, and behind what a replay comes to next.
///
/// The index is named, not left to the planner: the database keeps no statistics, and a guess that was right with ten
/// rows must not be wrong with ten million. SQLite refuses to prepare a statement whose named index cannot serve it.
struct NotificationQuery {
    let sql: String
    private let terms: Terms

    init(_ filter: NotificationFilter, limit: Int) {
        var terms = Terms(filter)
        let condition = terms.condition
        terms.numbers.append(Int64(max(0, limit)))
        sql = """
            SELECT \(NotificationReader.columns) FROM notification \(Self.access(Self.index(for: filter))) \(condition)
            ORDER BY sequence DESC LIMIT ?
            """
        self.terms = terms
    }

    /// How many there are that were settled by that time, events left out, and the first and the last of them.
    init(tallying filter: NotificationFilter, settledBy time: Timestamp) {
        var terms = Terms(filter)
        terms.add("settled_at <= ?", time.milliseconds)
        sql = """
            SELECT count(*), min(sequence), max(sequence) FROM notification \(Self.access(Self.index(for: filter)))
            \(terms.condition) AND event IS NULL
            """
        self.terms = terms
    }

    /// All after the replay's position that the narrowest term alone leaves, oldest first: what the others make of
    /// them is not the statement's to decide, for it would look at any number of rows to find one.
    init(_ replay: Replay, limit: Int) {
        var filter = NotificationFilter()
        let index = Self.orderedIndex(for: replay.filter)
        switch index {
        case "notification_by_content": filter.contentID = replay.filter.contentID
        case "notification_by_event", "notification_by_kind": filter.type = replay.filter.type
        case "notification_by_session": filter.session = replay.filter.session
        case "notification_by_state": filter.state = replay.filter.state
        case "notification_by_application": filter.application = replay.filter.application
        default: break
        }
        var terms = Terms(filter)
        terms.add("sequence > ?", replay.position.value)
        terms.add("sequence <= ?", replay.through.value)
        let condition = terms.condition
        terms.numbers.append(Int64(max(0, limit)))
        sql = """
            SELECT \(NotificationReader.columns) FROM notification \(Self.access(index)) \(condition)
            ORDER BY sequence LIMIT ?
            """
        self.terms = terms
    }

    /// What must hold, with what is bound to it: texts first and numbers after them, so they are added in that order.
    private struct Terms {
        var terms: [String] = []
        var texts: [String] = []
        var numbers: [Int64] = []

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
            add("sequence < ?", filter.before?.value)
        }

        var condition: String { terms.isEmpty ? "" : "WHERE \(terms.joined(separator: " AND "))" }

        mutating func add(_ term: String, _ text: String?) { if let text { terms.append(term); texts.append(text) } }
        mutating func add(_ term: String, _ number: Int64?) {
            if let number { terms.append(term); numbers.append(number) }
        }
    }

    func bind(_ binder: inout ArgumentBinder) {
        for text in terms.texts { binder.bind(text) }
        for number in terms.numbers { binder.bind(number) }
    }

    private static func access(_ index: String?) -> String { index.map { "INDEXED BY \($0)" } ?? "NOT INDEXED" }

    /// The filter that leaves the fewest rows, as a rule; all but the one by time are in the order of the list.
    ///
    /// Most notifications end as delivered, so that state is the last to narrow a list down.
    private static func index(for filter: NotificationFilter) -> String? {
        if let index = narrowIndex(for: filter) { return index }
        if filter.since != nil { return "notification_by_time" }
        if let index = broadIndex(for: filter) { return index }
        return filter.until == nil ? nil : "notification_by_time"
    }

    /// Likewise, but in the order of acceptance; without an index it is the table's own.
    private static func orderedIndex(for filter: NotificationFilter) -> String? {
        narrowIndex(for: filter) ?? broadIndex(for: filter)
    }

    private static func narrowIndex(for filter: NotificationFilter) -> String? {
        if filter.contentID != nil { return "notification_by_content" }
        switch filter.type {
        case .event where filter.session == nil: return "notification_by_event"
        case .notification(let kind) where kind != .notification && filter.session == nil: return "notification_by_kind"
        default: break
        }
        if filter.session != nil { return "notification_by_session" }
        if let state = filter.state, state != .delivered { return "notification_by_state" }
        return nil
    }

    private static func broadIndex(for filter: NotificationFilter) -> String? {
        if filter.application != nil { return "notification_by_application" }
        if filter.state != nil { return "notification_by_state" }
        return nil
    }
}
