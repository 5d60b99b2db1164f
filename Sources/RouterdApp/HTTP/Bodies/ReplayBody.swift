import HTTPTypes
package import Router
package import RouterPlugin

/// A replay as JSON.
package enum ReplayBody {
    /// The replay that a client requests.
    package struct Asked: Sendable {
        package var filter: NotificationFilter
        package var perSecond: Int
        package var isDryRun: Bool
    }

    /// The members of the filter are those of a list's query.
    private static let filters = ["application", "state", "session", "contentId", "since", "until"]

    package static func read(_ value: JSONValue, caller: Caller) throws(Problem) -> Asked {
        var body = try ObjectReader(value)
        var query: [String: String] = [:]
        for name in filters { query[name] = try body.string(name) }
        let perSecond = try body.integer("perSecond", in: 1...Int64(RouterLimits.replaysPerSecond))
        let isDryRun = try body.bool("dryRun")
        try body.finish()
        guard !query.isEmpty else {
            let names = filters.joined(separator: ", ")
            throw Problem(
                .unprocessableContent, "missing-field", "Say which notifications, by one of \(names) at least.")
        }
        let filter = try NotificationQuery.filter(query, caller: caller).stored
        if let state = filter.state, !state.isSettled {
            throw body.invalid("state", "must be one that notifications end in")
        }
        return Asked(
            filter: filter, perSecond: perSecond ?? DaemonLimits.replaysPerSecond, isDryRun: isDryRun ?? false)
    }

    static func write(_ replay: Replay) -> [UInt8] { JSONWriter.object { write(replay, to: &$0) } }

    static func write(_ replay: Replay, to body: inout JSONObjectWriter) {
        body.field("id", replay.id.text)
        body.field("state", replay.state.rawValue)
        body.field("dryRun", false)
        write(replay.filter, to: &body)
        body.field("perSecond", replay.perSecond)
        body.field("matched", replay.matched)
        body.field("replayed", replay.replayed)
        body.field("skipped", replay.skipped)
        body.field("createdAt", replay.createdAt)
        body.field("endedAt", replay.endedAt)
    }

    static func writeDryRun(_ tally: NotificationTally, _ asked: Asked) -> [UInt8] {
        JSONWriter.object { body in
            body.field("dryRun", true)
            write(asked.filter, to: &body)
            body.field("perSecond", asked.perSecond)
            body.field("matched", tally.count)
        }
    }

    private static func write(_ filter: NotificationFilter, to body: inout JSONObjectWriter) {
        body.object("filter") {
            if let application = filter.application { $0.field("application", application) }
            if let state = filter.state { $0.field("state", state.rawValue) }
            if let session = filter.session { $0.field("session", session) }
            if let contentID = filter.contentID { $0.field("contentId", contentID) }
            if let since = filter.since { $0.field("since", since) }
            if let until = filter.until { $0.field("until", until) }
        }
    }
}
