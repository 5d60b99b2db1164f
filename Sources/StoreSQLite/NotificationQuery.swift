import Router
import RouterPlugin

/// The statement behind a list of notifications.
///
/// The index is named, not left to the planner: the database keeps no statistics, and a guess that was right with ten
/// rows must not be wrong with ten million. SQLite refuses to prepare a statement whose named index cannot serve it.
struct NotificationQuery {
    let sql: String
    private let texts: [String]
    private let numbers: [Int64]

    init(_ filter: NotificationFilter, limit: Int) {
        var terms: [String] = []
        var texts: [String] = []
        var numbers: [Int64] = []
        // Texts are bound first and numbers after them, so the terms are added in that order.
        func add(_ term: String, _ text: String?) { if let text { terms.append(term); texts.append(text) } }
        func add(_ term: String, _ number: Int64?) { if let number { terms.append(term); numbers.append(number) } }
        add("application = ?", filter.application?.text)
        add("state = ?", filter.state?.rawValue)
        add("session = ?", filter.session?.text)
        add("content_id = ?", filter.contentID?.text)
        add("received_at >= ?", filter.since?.milliseconds)
        add("received_at < ?", filter.until?.milliseconds)
        add("sequence < ?", filter.before?.value)
        let index = Self.index(for: filter).map { "INDEXED BY \($0)" } ?? "NOT INDEXED"
        let condition = terms.isEmpty ? "" : "WHERE \(terms.joined(separator: " AND "))"
        sql = """
            SELECT \(NotificationReader.columns) FROM notification \(index) \(condition)
            ORDER BY sequence DESC LIMIT ?
            """
        self.texts = texts
        self.numbers = numbers + [Int64(max(0, limit))]
    }

    func bind(_ binder: inout ArgumentBinder) {
        for text in texts { binder.bind(text) }
        for number in numbers { binder.bind(number) }
    }

    /// The filter that leaves the fewest rows, as a rule; all but the one by time are in the order of the list.
    ///
    /// Most notifications end as delivered, so that state is the last to narrow a list down.
    private static func index(for filter: NotificationFilter) -> String? {
        if filter.contentID != nil { return "notification_by_content" }
        if filter.session != nil { return "notification_by_session" }
        if let state = filter.state, state != .delivered { return "notification_by_state" }
        if filter.since != nil { return "notification_by_time" }
        if filter.application != nil { return "notification_by_application" }
        if filter.state != nil { return "notification_by_state" }
        if filter.until != nil { return "notification_by_time" }
        return nil
    }
}
