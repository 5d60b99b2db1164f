import HTTPTypes
package import Router
package import RouterPlugin

/// A test of rules, which stands beside them in their file: a notification, sessions, and the expected receiver.
///
///     - name: the wall waits at night
///       at: 2026-01-02T23:30:00Z
///       notification: {priority: 5, contentId: "photo/7"}
///       sessions: [{id: wall-1, role: wall}]
///       expect: {outcome: held, until: 2026-01-03T07:00:00Z, reason: night}
package struct RuleTest: Sendable {
    /// The result that the test expects; nil stands for any.
    private struct Expectation: Sendable {
        var outcome: String?
        var session: SessionID?
        var until: Timestamp?
        /// A part of the reason.
        var reason: String?
        var priority: Priority?
        var expireSeconds: Int64?
        var headers: [RenderedRequest.Header] = []
    }

    package let name: String
    private let now: Timestamp
    private let view: NotificationView
    private let sessions: [SceneSession]
    private let past: RuleHistory?
    private let expected: Expectation

    /// The time of a test that names none: a Thursday at midnight.
    private static let usualTime = Timestamp(milliseconds: 1_767_225_600_000)
    private static let sessionLimit = 1000
    private static let takenLimit = 512
    private static let mostSecondsAgo: Int64 = 31_536_000

    /// Reads a test and reports all of its faults, one for each field at most; nil if there are any.
    init?(_ value: JSONValue, at pointer: String, reporting report: (Problem) -> Void) {
        var hasFaults = false
        func attempt<Part>(_ read: () throws(Problem) -> Part) -> Part? {
            do throws(Problem) { return try read() } catch {
                report(error)
                hasFaults = true
                return nil
            }
        }
        func attemptOptional<Part>(_ read: () throws(Problem) -> Part?) -> Part? { attempt(read) ?? nil }
        guard var reader = attempt({ () throws(Problem) in try ObjectReader(value, at: pointer) }) else { return nil }
        let name = attempt { () throws(Problem) -> String in
            guard let name = try reader.string("name") else { throw reader.missing("name") }
            return name
        }
        let time = attemptOptional { () throws(Problem) in try Self.time("at", &reader) }
        let now = time ?? Self.usualTime
        let named = attemptOptional { () throws(Problem) in
            try reader.identifier("application", of: IdentifierKinds.Application.self)
        }
        let application = named ?? ApplicationID(unchecked: "com.example.App")
        let view = attempt { () throws(Problem) in try Self.view(try reader.object("notification"), application) }
        let list = attemptOptional { () throws(Problem) in
            try reader.array("sessions", atMost: Self.sessionLimit)
        }
        var sessions: [SceneSession] = []
        for (place, value) in (list ?? []).enumerated() {
            let session = attempt { () throws(Problem) in
                try Self.session(value, "\(pointer)/sessions/\(place)", application, created: place, now: now)
            }
            if let session { sessions.append(session) }
        }
        let past = attemptOptional { () throws(Problem) -> RuleHistory? in
            let past = try reader.object("past")
            guard let view else { return nil }
            return try Self.past(past, of: view, at: now)
        }
        let expected = attempt { () throws(Problem) -> Expectation in
            guard let expected = try reader.object("expect") else { throw reader.missing("expect") }
            return try Self.expectation(expected)
        }
        _ = attempt { () throws(Problem) in try reader.finish() }
        guard !hasFaults, let name, let view, let expected else { return nil }
        (self.name, self.now, self.view, self.expected) = (name, now, view, expected)
        (self.sessions, self.past) = (sessions, past)
    }

    /// Runs the test; returns what differs from the expectation, nothing if the test passes.
    package func differences(under rules: [any RoutingRule]) -> [String] {
        var tenant = Tenant(application: Application(id: view.application), expecting: sessions.count)
        for session in sessions { tenant.put(session) }
        let (outcome, decision, amendment) = Chooser(rules: rules).tryOut(
            view, in: tenant, at: now, knowing: past)
        var differences: [String] = []
        func compare(_ what: String, _ expected: String?, _ actual: String) {
            guard let expected, !expected.isSame(as: actual) else { return }
            differences.append("\(what): expected \(expected), got \(actual)")
        }
        compare("outcome", expected.outcome, outcome.word)
        compare("session", expected.session?.text, decision.session?.text ?? "none")
        if let until = expected.until {
            var actual = "no hold"
            if case .held(let end) = outcome { actual = end.rfc3339 }
            compare("until", until.rfc3339, actual)
        }
        compare(
            "priority", expected.priority.map { "\($0.rawValue)" }, "\((amendment.priority ?? view.priority).rawValue)")
        compare(
            "expireSeconds", expected.expireSeconds.map(String.init), amendment.expireSeconds.map(String.init) ?? "none"
        )
        for header in expected.headers {
            let added = amendment.headers.first { $0.name.isSame(as: header.name) }
            compare("header \(header.name)", header.value, added?.value ?? "none")
        }
        if let part = expected.reason, !decision.reason.contains(part) {
            differences.append("reason: expected '\(part)' in it")
        }
        return differences.isEmpty ? [] : differences + ["the reason was: \(decision.reason)"]
    }
}

extension ChoiceOutcome {
    /// The outcome in a word.
    package var word: String {
        switch self {
        case .session: "session"
        case .newSession: "newSession"
        case .held: "held"
        case .dropped: "dropped"
        case .undeliverable: "undeliverable"
        }
    }
}

// MARK: - Reading

extension RuleTest {
    private static func time(_ key: String, _ reader: inout ObjectReader) throws(Problem) -> Timestamp? {
        guard let text = try reader.string(key) else { return nil }
        guard let time = Timestamp(rfc3339: text) else {
            throw reader.invalid(key, "must be a time such as 2026-01-02T03:04:05Z")
        }
        return time
    }

    private static func priority(_ reader: inout ObjectReader) throws(Problem) -> Priority? {
        guard let number = try reader.integer("priority", in: 1...10) else { return nil }
        guard let priority = Priority(rawValue: number) else { throw reader.invalid("priority", "must be 1, 5 or 10") }
        return priority
    }

    /// Reads a notification; one that is left out has no content id and no payload.
    static func view(_ reader: ObjectReader?, _ application: ApplicationID) throws(Problem) -> NotificationView {
        guard var reader else {
            return NotificationView(
                application: application, device: nil, contentID: nil, priority: .high, payload: Array("{}".utf8))
        }
        let priority = try priority(&reader) ?? .high
        var kind = NotificationKind.notification
        if let word = try reader.string("kind") {
            guard let known = NotificationKind(rawValue: word) else {
                let words = NotificationKind.allCases.map(\.rawValue).joined(separator: ", ")
                throw reader.invalid("kind", "must be one of \(words)")
            }
            kind = known
        }
        let view = NotificationView(
            kind: kind, application: application,
            device: try reader.identifier("device", of: IdentifierKinds.Device.self),
            contentID: try reader.identifier("contentId", of: IdentifierKinds.Content.self), priority: priority,
            payload: (reader.value("payload") ?? .object(JSONObject())).serialized())
        try reader.finish()
        return view
    }

    /// A session is the body of a session with its id, and `activeSecondsAgo`.
    private static func session(
        _ value: JSONValue, _ pointer: String, _ application: ApplicationID, created: Int, now: Timestamp
    ) throws(Problem) -> SceneSession {
        guard var object = value.asObject else {
            throw Problem(.badRequest, "not-an-object", "A session must be an object.", pointer: pointer)
        }
        var lastActivatedAt: Timestamp?
        if let seconds = object["activeSecondsAgo"] {
            guard let seconds = seconds.asInt64, (0...mostSecondsAgo).contains(seconds) else {
                throw Problem(
                    .unprocessableContent, "invalid-field",
                    "The field activeSecondsAgo must be a whole number of seconds, a year at most.",
                    pointer: "\(pointer)/activeSecondsAgo")
            }
            lastActivatedAt = now.advanced(byMilliseconds: -seconds * 1000)
            object["activeSecondsAgo"] = nil
        }
        do throws(Problem) {
            let (id, draft) = try SessionBody.readWithID(.object(object), within: .unguarded(at: now))
            return SceneSession(
                key: SessionKey(application: application, session: id), role: draft.role,
                configuration: draft.configuration ?? "", device: draft.device, activationState: draft.activationState,
                conditions: draft.conditions, lastActivatedAt: lastActivatedAt, creationSequence: Int64(created))
        } catch {
            var problem = error
            problem.pointer = pointer + (problem.pointer ?? "")
            throw problem
        }
    }

    /// Reads the past of the application: the notifications that sessions have taken or that wait for them, the last one first,
    /// and how many wait in the lanes of sessions.
    private static func past(
        _ reader: ObjectReader?, of view: NotificationView, at now: Timestamp
    ) throws(Problem) -> RuleHistory? {
        guard var reader else { return nil }
        var (ofContent, ofApplication): ([RuleHistory.Taken], [RuleHistory.Taken]) = ([], [])
        let list = try reader.array("taken", atMost: takenLimit) ?? []
        for (place, value) in list.enumerated() {
            var entry = try ObjectReader(value, at: "\(reader.pointer(to: "taken"))/\(place)")
            guard let session = try entry.identifier("session", of: IdentifierKinds.Session.self) else {
                throw entry.missing("session")
            }
            let content = try entry.identifier("contentId", of: IdentifierKinds.Content.self)
            let seconds = try entry.integer("secondsAgo", in: 0...mostSecondsAgo)
            try entry.finish()
            let time = seconds.map { now.advanced(byMilliseconds: -Int64($0) * 1000) }
            ofApplication.append(RuleHistory.Taken(session, at: time))
            if let content, content == view.contentID { ofContent.append(RuleHistory.Taken(session, at: time)) }
        }
        var waiting: [SessionID: Int] = [:]
        for member in reader.value("waiting")?.asObject?.members ?? [] {
            guard let count = member.value.asInt64, (0...Int64(Int32.max)).contains(count) else {
                throw reader.invalid("waiting", "must be an object of sessions and whole numbers from 0 on")
            }
            waiting[SessionID(unchecked: member.key)] = Int(count)
        }
        try reader.finish()
        return RuleHistory(ofContent: ofContent, ofApplication: ofApplication) { [waiting] in waiting[$0] ?? 0 }
    }

    private static func expectation(_ body: ObjectReader) throws(Problem) -> Expectation {
        var reader = body
        var expected = Expectation()
        expected.session = try reader.identifier("session", of: IdentifierKinds.Session.self)
        expected.until = try time("until", &reader)
        expected.reason = try reader.string("reason")
        expected.priority = try priority(&reader)
        expected.expireSeconds = try reader.integer("expireSeconds", in: 1...604_800).map(Int64.init)
        if let headers = reader.value("headers") {
            expected.headers = (headers.asObject?.members ?? []).compactMap { member in
                member.value.asString.map { RenderedRequest.Header(member.key, $0) }
            }
            guard !expected.headers.isEmpty else {
                throw reader.invalid("headers", "must be an object of header fields")
            }
        }
        if let word = try reader.string("outcome") {
            let words = ["session", "newSession", "held", "dropped", "undeliverable"]
            guard words.contains(word) else {
                throw reader.invalid("outcome", "must be one of \(words.joined(separator: ", "))")
            }
            expected.outcome = word
        }
        try reader.finish()
        let namesChange = expected.priority != nil || expected.expireSeconds != nil || !expected.headers.isEmpty
        guard expected.session != nil || expected.outcome != nil || namesChange else {
            throw Problem(
                .unprocessableContent, "missing-field", "An expectation names a session, an outcome or a change.",
                pointer: reader.pointer(to: "session"))
        }
        return expected
    }
}
