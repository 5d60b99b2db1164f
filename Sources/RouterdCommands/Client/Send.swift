import ArgumentParser
import Foundation
import Router
import RouterPlugin
import RouterdApp

/// The options that make a notification.
struct NotificationOptions: ParsableArguments {
    @Option(help: "The device that it is for.")
    var device: String?
    @Option(help: "The content that it is about, for a payload that is made here.")
    var contentID: String?
    @Option(help: "The text to show, for a payload that is made here.")
    var alert: String?
    @Option(parsing: .unconditional, help: "1, 5 or 10; 10 if left out.")
    var priority: Int?
    @Argument(
        help: ArgumentHelp(
            "The payload: JSON text that begins with {, @FILE or FILE, or - for standard input.",
            discussion: "Left out, it is read from standard input; a terminal and an empty input stand for {}."))
    var payload: String?

    func validate() throws {
        if payload != nil, contentID != nil || alert != nil {
            throw ValidationError("Give a payload, or let --content-id and --alert make one; not both.")
        }
        if let priority, Priority(rawValue: priority) == nil {
            throw ValidationError("--priority must be 1, 5 or 10.")
        }
    }

    /// The bytes of the payload.
    func bytes() throws -> [UInt8] {
        guard let payload else {
            guard contentID != nil || alert != nil else {
                let bytes = Terminal.isInput ? [] : try Console.read("-")
                return bytes.isEmpty ? Array("{}".utf8) : bytes
            }
            return JSONWriter.object { body in
                if let alert { body.object("aps") { $0.field("alert", alert) } }
                if let contentID { body.field("notification-content-id", contentID) }
            }
        }
        if payload.hasPrefix("{") { return Array(payload.utf8) }
        return try Console.read(argument: payload)
    }
}

struct Send: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send a notification to a running daemon.",
        discussion: """
            Ends with status 1 if no session can have it, and with --wait if it is not delivered.

            EXAMPLES
              routerd send --content-id gallery://photo/7 --alert "New comment"
              routerd send --wait '{"aps": {"alert": "Hello"}, "level": "info"}'
              jq .payload event.json | routerd send --priority 5 -
            """)

    /// The pause between two looks at a notification that is waited for.
    private static let pollMilliseconds = 200

    @OptionGroup var server: ServerOptions
    @OptionGroup var application: ApplicationOption
    @OptionGroup var notification: NotificationOptions
    @Option(help: "A key under which the same request may be repeated.")
    var idempotencyKey: String?
    @Option(help: "A later notification with the same id replaces it while it waits.")
    var collapseID: String?
    @Flag(help: "Send it to each session that can have it; the application has to allow broadcasts.")
    var broadcast = false
    @Option(parsing: .unconditional, help: "Seconds for which it is worth delivering; 0 is one attempt.")
    var expires: Int?
    @Flag(help: "Wait until it is delivered or given up.")
    var wait = false
    @Option(parsing: .unconditional, help: "Seconds to wait with --wait.")
    var waitSeconds = 60

    func validate() throws {
        if let expires, expires < 0 { throw ValidationError("--expires must be 0 or more seconds.") }
        guard (1...86_400).contains(waitSeconds) else {
            throw ValidationError("--wait-seconds must be from 1 to 86400.")
        }
    }

    func run() async throws {
        let query = ServerOptions.query([("device", notification.device), ("broadcast", broadcast ? "true" : nil)])
        let answer = try await server.send(
            path: application.path + "/notifications" + query, headers: headers, body: try notification.bytes(),
            isQuiet: wait)
        let accepted = answer["notifications"]?.asArray ?? [answer]
        if !server.json { accepted.forEach(Self.show) }
        guard wait else {
            if accepted.contains(where: { $0["state"] == "deadLettered" }) { throw ExitCode(1) }
            return
        }
        for id in accepted.compactMap({ $0["id"]?.asString }) { try await follow(id) }
    }

    private static func show(_ accepted: JSONValue) {
        let state = accepted["state"]?.asString ?? ""
        let duplicate = accepted["duplicate"] == true ? " (sent before)" : ""
        let shown = Terminal.colour(of: state).map { Terminal.paint(state, $0) } ?? state
        Console.print("\(accepted["id"]?.asString ?? "") \(shown)\(duplicate)")
        Console.print(told(accepted["decision"]))
        for veto in accepted["decision"]?["vetoes"]?.asArray ?? [] {
            let (session, rule) = (
                veto["session"]?.asString ?? "every session", veto["rule"]?.asString ?? ""
            )
            Console.print("  \(session) is vetoed by \(rule): \(veto["reason"]?.asString ?? "")")
        }
    }

    private var headers: [HeaderField] {
        var headers: [HeaderField] = []
        if let idempotencyKey { headers.append(HeaderField("idempotency-key", idempotencyKey)) }
        if let collapseID { headers.append(HeaderField("apns-collapse-id", collapseID)) }
        if let priority = notification.priority { headers.append(HeaderField("apns-priority", "\(priority)")) }
        if let expires {
            let end = expires == 0 ? 0 : Int(Date().timeIntervalSince1970) + expires
            headers.append(HeaderField("apns-expiration", "\(end)"))
        }
        return headers
    }

    /// Looks at the notification until it is settled.
    private func follow(_ id: String) async throws {
        let start = ContinuousClock.now
        var seen = 0
        while true {
            let now = try await server.send(.get, path: "/v1/notifications/\(encoded(id))", isQuiet: true)
            let attempts = now["attempts"]?.asArray ?? []
            let state = now["state"]?.asString ?? ""
            for attempt in attempts.dropFirst(seen) where !server.json { Console.print(Self.line(attempt)) }
            seen = attempts.count
            if !["held", "waiting", "inFlight"].contains(state) {
                Terminal.progress("")
                if server.json { Console.print(now.serialized()) } else { Console.print(Self.settled(now, state)) }
                guard state == "delivered" else { throw ExitCode(1) }
                return
            }
            guard ContinuousClock.now - start < .seconds(waitSeconds) else {
                Terminal.progress("")
                if server.json { Console.print(now.serialized()) }
                Console.error("\(id) is \(state) after \(waitSeconds) s; it stays with the daemon")
                throw ExitCode(1)
            }
            let next = now["nextAttemptAt"]?.asString.map { ", next attempt at \($0)" } ?? ""
            Terminal.progress("\(state)\(next)")
            try await Task.sleep(for: .milliseconds(Self.pollMilliseconds))
        }
    }

    private static func settled(_ notification: JSONValue, _ state: String) -> String {
        let shown = Terminal.colour(of: state).map { Terminal.paint(state, $0) } ?? state
        return shown + (notification["reason"]?.asString.map { ": \($0)" } ?? "")
    }

    private static func line(_ attempt: JSONValue) -> String {
        let outcome = attempt["status"]?.asInt64.map(String.init) ?? attempt["error"]?["kind"]?.asString ?? ""
        return "  attempt \(attempt["number"]?.asInt64 ?? 0) at \(attempt["session"]?.asString ?? "-"): \(outcome)"
    }
}

struct Explain: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the session that would receive a notification, and why. Nothing is sent.",
        discussion: """
            Each session is listed with the reason why it was chosen or passed over, and below the table with what each rule says.

            EXAMPLES
              routerd explain --content-id gallery://photo/7
              routerd explain --priority 5 --at 2026-01-02T23:30:00Z @payload.json
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var application: ApplicationOption
    @OptionGroup var notification: NotificationOptions
    @Option(help: "The time to decide for, such as 2026-01-02T23:30:00Z; now if left out.")
    var at: String?
    @Option(help: "The greatest number of sessions to show.")
    var limit: Int?
    @Flag(help: "Show the sessions that would get it as a broadcast, too.")
    var broadcast = false
    @OptionGroup var table: TableOptions

    func run() async throws {
        let query = ServerOptions.query([
            ("device", notification.device), ("priority", notification.priority.map { "\($0)" }), ("at", at),
            ("limit", limit.map { "\($0)" }), ("broadcast", broadcast ? "true" : nil),
        ])
        let answer = try await server.send(path: application.path + "/explain" + query, body: try notification.bytes())
        guard !server.json else { return }
        let decision = answer["decision"]
        Console.print(told(decision))
        if let until = decision?["heldUntil"]?.asString { Console.print("held until \(until)") }
        if decision?["dropped"] == true { Console.print("dropped by a rule") }
        if let configuration = decision?["configuration"]?.asString {
            Console.print("a session of the configuration '\(configuration)' would be made")
        }
        if let receivers = answer["receivers"]?.asArray {
            Console.print("receivers of a broadcast:")
            Table(["session", "tier", "state", "heldUntil", "reason"], of: receivers, wide: table.wide)
                .show(nothing: "No session can have it.")
        }
        let candidates = answer["candidates"]?.asArray ?? []
        let columns = ["session", "tier", "can", "prefers", "activationState", "preferenceLevel", "reason"]
        Table(columns, of: candidates.map(Self.withoutVerdicts), wide: table.wide)
            .show(nothing: "There is no session in scope.")
        for candidate in candidates { Self.showVerdicts(of: candidate) }
        for candidate in candidates {
            guard let hint = candidate["hint"]?.asString else { continue }
            Console.print("hint: \(candidate["session"]?.asString ?? ""): \(hint)")
        }
        let scope = answer["sessionsInScope"]?.asInt64 ?? 0
        if scope > Int64(candidates.count) {
            Console.print("\(candidates.count) of \(scope) sessions in scope are shown; --limit shows more")
        }
    }

    private static func withoutVerdicts(_ candidate: JSONValue) -> JSONValue {
        var object = candidate.asObject ?? JSONObject()
        object["verdicts"] = nil
        object["hint"] = nil
        return .object(object)
    }

    private static func showVerdicts(of candidate: JSONValue) {
        for verdict in candidate["verdicts"]?.asArray ?? [] {
            let word = verdict["verdict"]?.asString ?? ""
            let more = ["noAnswer", "reason", "session", "until"].compactMap { verdict[$0]?.asString }.joined(
                separator: ", ")
            let line = "  \(candidate["session"]?.asString ?? "")  \(verdict["rule"]?.asString ?? ""): \(word)"
            Console.print(more.isEmpty ? line : "\(line): \(more)")
        }
    }
}

/// The receiver and the reason, which names the tier.
func told(_ decision: JSONValue?) -> String {
    let receiver =
        decision?["session"]?.asString ?? (decision?["tier"]?.asString == "newSession" ? "a new session" : "no session")
    return "→ \(Terminal.paint(receiver, .strong))  because \(decision?["reason"]?.asString ?? "")"
}
