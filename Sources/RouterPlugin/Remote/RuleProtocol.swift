/// The messages between the router and a remote rule, version 1.
///
///     router ──▶ {"type": "hello", "protocol": 1, "kind": "rule", "plugin": "…", "settings": {…}}
///     plugin ──▶ {"type": "ready", "protocol": 1, "kind": "rule", "plugin": "…", "version": "1.0.0"}
///     router ──▶ {"type": "rule", "id": 7, "at": "…", "notification": {…}, "candidates": [{…}, …]}
///     plugin ──▶ {"type": "verdicts", "id": 7, "verdicts": [{"session": "…", "verdict": "veto", "reason": "…"}]}
///
/// On standard input and output each message is preceded by its length: 4 bytes, most significant first. Questions are
/// sent without waiting for answers, which may come in any order. A candidate that the answer leaves out is accepted.
package enum RuleProtocol {
    package static let version = 1
    /// The most candidates of one question.
    package static let candidates = RoutingLimits.lookAhead
    /// The most bytes of an answer.
    package static let answerBytes = 64 * 1024
    private static let limits = JSONLimits(maximumBytes: answerBytes, maximumDepth: 8, maximumNumberLength: 32)

    /// A message of a plugin.
    package enum Incoming: Hashable, Sendable {
        case ready(version: String)
        case verdicts(id: Int64, [SessionID: RoutingVerdict])
    }

    package static func hello(_ rule: RemoteRule) -> [UInt8] {
        JSONWriter.object { message in
            message.field("type", "hello")
            message.field("protocol", version)
            message.field("kind", "rule")
            message.field("plugin", rule.id)
            message.field("settings", rule.settings)
        }
    }

    /// - Parameter userInfo: The members of the candidates' `userInfo` that it has.
    package static func question(
        _ id: Int64, _ notification: NotificationView, _ candidates: [Candidate], at now: Timestamp,
        userInfo: [String] = [], with settings: JSONValue? = nil
    ) -> [UInt8] {
        JSONWriter.object { message in
            message.field("type", "rule")
            message.field("protocol", version)
            message.field("id", id)
            message.field("at", now)
            if let settings { message.field("settings", settings) }
            message.object("notification") { write(notification, to: &$0) }
            message.array("candidates") { list in
                for candidate in candidates { list.object { write(candidate, userInfo, to: &$0) } }
            }
        }
    }

    private static func write(_ notification: NotificationView, to object: inout JSONObjectWriter) {
        object.field("kind", notification.kind.rawValue)
        object.field("application", notification.application)
        object.field("device", notification.device)
        object.field("contentId", notification.contentID)
        object.field("priority", notification.priority.rawValue)
        if (try? JSONValue(parsing: notification.payload)) != nil {
            object.raw("payload", notification.payload)
        } else {
            object.field("payloadBase64", Base64.encode(notification.payload))
        }
    }

    private static func write(_ candidate: Candidate, _ userInfo: [String], to object: inout JSONObjectWriter) {
        object.field("session", candidate.session)
        object.field("device", candidate.device)
        object.field("role", candidate.role)
        object.field("configuration", candidate.configuration)
        object.field("activationState", candidate.activationState.name)
        object.field("lastActivatedAt", candidate.lastActivatedAt)
        object.field("preferenceLevel", candidate.preferenceLevel)
        object.field("tier", candidate.tier.rawValue)
        guard !userInfo.isEmpty else { return }
        let values = candidate.userInfo
        object.object("userInfo") { members in
            for name in userInfo { if let value = values[name] { members.field(name, value) } }
        }
    }

    /// The message with its length before it.
    package static func framed(_ message: [UInt8]) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: message.count >> (24 - 8 * $0)) } + message
    }

    /// Reads a message of the plugin.
    ///
    /// - Parameter plugin: The id that the plugin must bear.
    /// - Throws: The fault; the cause of `malformed` names the member.
    package static func read(_ bytes: [UInt8], from plugin: PluginID) throws(RuleFailure) -> Incoming {
        guard bytes.count <= answerBytes else { throw RuleFailure(.tooLarge) }
        guard let message = try? JSONValue(parsing: bytes, limits: limits) else {
            throw malformed("the message is no JSON")
        }
        switch message["type"]?.asString {
        case "ready":
            guard message["protocol"] != nil else { throw RuleFailure(.wrongProtocol) }
            guard message["kind"] != nil else { throw RuleFailure(.wrongPlugin) }
            try check(message, from: plugin)
            try expect(message, only: ["type", "protocol", "kind", "plugin", "version"])
            guard let version = message["version"]?.asString, (1...64).contains(version.utf8.count),
                version.utf8.allSatisfy({ (0x20..<0x7F).contains($0) })
            else { throw malformed("version: this must be 1 to 64 printable characters") }
            return .ready(version: version)
        case "verdicts":
            // A server has no other message in which it could say who it is.
            try check(message, from: plugin)
            try expect(message, only: ["type", "protocol", "kind", "plugin", "id", "verdicts"])
            guard let id = message["id"]?.asInt64 else {
                throw malformed("id: this must be the number of the question")
            }
            guard let list = message["verdicts"]?.asArray, list.count <= 4 * candidates else {
                throw malformed("verdicts: this must be a list of at most \(4 * candidates)")
            }
            var verdicts: [SessionID: RoutingVerdict] = [:]
            for (place, entry) in list.enumerated() {
                let member = "verdicts[\(place)]"
                guard let name = entry["session"]?.asString, let session = try? SessionID(name) else {
                    throw malformed("\(member).session: this must be the id of a session")
                }
                guard verdicts[session] == nil else {
                    throw malformed("\(member).session: \(session) has two verdicts")
                }
                verdicts[session] = try verdict(entry, member)
            }
            return .verdicts(id: id, verdicts)
        default: throw malformed("type: this must be ready or verdicts")
        }
    }

    private static func malformed(_ cause: String) -> RuleFailure { RuleFailure(.malformed, because: cause) }

    /// Whether the members that name the protocol and the plugin are those of this rule, as far as the message has them.
    private static func check(_ message: JSONValue, from plugin: PluginID) throws(RuleFailure) {
        if let number = message["protocol"], number.asInt64 != Int64(version) { throw RuleFailure(.wrongProtocol) }
        if let kind = message["kind"], kind.asString != "rule" { throw RuleFailure(.wrongPlugin) }
        if let name = message["plugin"], name.asString != plugin.text { throw RuleFailure(.wrongPlugin) }
    }

    /// Refuses a member that the protocol does not have: most often it is a misspelt one.
    private static func expect(
        _ value: JSONValue, only names: [String], within place: String = ""
    ) throws(RuleFailure) {
        for member in value.asObject?.members ?? [] where !names.contains(where: { $0.isSame(as: member.key) }) {
            throw malformed("\(place)\(member.key): there is no such member")
        }
    }

    private static func verdict(_ entry: JSONValue, _ place: String) throws(RuleFailure) -> RoutingVerdict {
        try expect(entry, only: ["session", "verdict", "reason", "to", "until"], within: "\(place).")
        let kind = entry["verdict"]?.asString
        if kind == "accept" { return .accept }
        guard let kind, ["prefer", "veto", "drop", "redirect", "hold"].contains(kind) else {
            throw malformed("\(place).verdict: this must be accept, prefer, veto, redirect, hold or drop")
        }
        guard let reason = entry["reason"]?.asString, isReason(reason) else {
            throw malformed("\(place).reason: this must be one line of 1 to 200 bytes")
        }
        switch kind {
        case "prefer": return .prefer(reason: reason)
        case "veto": return .veto(reason: reason)
        case "redirect":
            guard let name = entry["to"]?.asString, let session = try? SessionID(name) else {
                throw malformed("\(place).to: this must be the id of a session")
            }
            return .redirect(to: session, reason: reason)
        case "hold":
            guard let text = entry["until"]?.asString, let until = Timestamp(rfc3339: text) else {
                throw malformed("\(place).until: this must be a time in RFC 3339")
            }
            return .hold(until: until, reason: reason)
        default: return .drop(reason: reason)
        }
    }

    /// One line of 1 to 200 bytes without control characters, which is no reason of the router's own.
    private static func isReason(_ text: String) -> Bool {
        (1...200).contains(text.utf8.count) && !RemoteRule.isLack(text)
            && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F..<0xA0).contains($0.value) }
    }
}

/// Takes messages out of a stream of bytes.
package struct FrameReader: Sendable {
    private var buffer: [UInt8] = []
    private let limit: Int

    package init(limit: Int) {
        self.limit = limit
    }

    /// The four bytes in the place of a length that exceeds the limit, if they are printable ASCII or white space: the beginning
    /// of a text that the plugin has printed.
    package private(set) var textInPlaceOfLength: String?

    /// Takes further bytes; returns the messages that are complete.
    package mutating func take(_ bytes: some Collection<UInt8>) throws(RuleFault) -> [[UInt8]] {
        buffer += bytes
        var messages: [[UInt8]] = []
        var start = 0
        while buffer.count - start >= 4 {
            let length = buffer[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
            guard length <= limit else {
                let head = buffer[start..<start + 4]
                if head.allSatisfy({ (0x20...0x7E).contains($0) || (0x09...0x0D).contains($0) }) {
                    textInPlaceOfLength = String(decoding: head.map { $0 < 0x20 ? 0x20 : $0 }, as: UTF8.self)
                }
                throw .tooLarge
            }
            guard buffer.count - start - 4 >= length else { break }
            messages.append(Array(buffer[start + 4..<start + 4 + length]))
            start += 4 + length
        }
        buffer.removeFirst(start)
        return messages
    }
}
