package import RouterPlugin

/// Changes that rules make to a notification when it comes, before its receiver is chosen.
///
///     request ── changes, in the order of the rules ──▶ request ── verdicts ──▶ receiver
///
/// A later change replaces an earlier one of the same kind.
package struct Amendment: Hashable, Sendable {
    package private(set) var priority: Priority?
    /// The time after which the notification expires, from its coming on.
    package private(set) var expireSeconds: Int64?
    /// Header fields of its webhook, in the order in which they were added.
    package private(set) var headers: [RenderedRequest.Header] = []
    /// The rules and their changes, for the reason of the decision.
    package private(set) var remark = ""

    init() {}

    package var isEmpty: Bool { priority == nil && expireSeconds == nil && headers.isEmpty }

    /// Whether both make the same changes, whichever rules they come from.
    package func hasSameEffect(as other: Amendment) -> Bool {
        priority == other.priority && expireSeconds == other.expireSeconds && headers == other.headers
    }

    /// Makes the changes of another rule after these.
    mutating func add(_ other: Amendment) {
        priority = other.priority ?? priority
        expireSeconds = other.expireSeconds ?? expireSeconds
        for header in other.headers {
            if let place = headers.firstIndex(where: { $0.name.isSame(as: header.name) }) {
                headers[place] = header
            } else if headers.count < RouterLimits.addedHeaders {
                headers.append(header)
            }
        }
        note(other.remark)
    }

    /// Records the changes of a rule in shadow.
    mutating func addShadow(_ other: Amendment) { note("in shadow \(other.remark)") }

    private mutating func note(_ words: String) { remark += remark.isEmpty ? words : "; \(words)" }

    /// The reason of a decision about the changed notification.
    func noted(on reason: String) -> String { remark.isEmpty ? reason : boundedReason("\(reason); \(remark)") }

    /// When a notification that came at this time expires, if the changes say so.
    func expiration(from time: Timestamp) -> Expiration? {
        expireSeconds.map { .at(time.advanced(byMilliseconds: $0 * 1000)) }
    }
}

// MARK: - Reading

extension Amendment {
    static let names = ["priority", "expireSeconds", "headers"]

    /// Reads the changes of a declared rule.
    ///
    /// - Parameter words: The rule and its reason.
    init(_ object: JSONObject, because words: String) throws(PluginConfigurationError) {
        let fields = try PluginConfiguration(.object(object), fields: Self.names)
        guard object["id"] == nil else { throw fields.invalid("id", because: "is not a change") }
        priority = try fields.priority("priority")
        expireSeconds = try fields.integer("expireSeconds", in: 1...604_800)
        if let value = try fields.object("headers")?.asObject { headers = try Self.headers(value, fields) }
        guard !isEmpty else { throw fields.invalid("headers", because: "must have a field") }
        var changes: [String] = []
        if let priority { changes.append("priority \(priority.rawValue)") }
        if let expireSeconds { changes.append("expires after \(expireSeconds) s") }
        if !headers.isEmpty { changes.append("headers \(headers.map(\.name).joined(separator: ", "))") }
        remark = "\(words) (\(changes.joined(separator: ", ")))"
    }

    private static func headers(
        _ object: JSONObject, _ fields: PluginConfiguration
    ) throws(PluginConfigurationError) -> [RenderedRequest.Header] {
        var headers: [RenderedRequest.Header] = []
        for member in object.members {
            let place = "headers/\(escapedForPointer(member.key))"
            guard let value = member.value.asString else {
                throw PluginConfigurationError(
                    code: "wrong-type", pointer: "/\(place)", message: "The value of a header field must be a string.")
            }
            let header = RenderedRequest.Header(member.key, value)
            if let fault = header.fault {
                throw PluginConfigurationError(code: "invalid-header", pointer: "/\(place)", message: fault)
            }
            headers.append(header)
        }
        let bytes = headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        guard headers.count <= RouterLimits.addedHeadersOfRule, bytes <= RouterLimits.addedHeaderBytesOfRule else {
            let limits = "\(RouterLimits.addedHeadersOfRule) fields of \(RouterLimits.addedHeaderBytesOfRule) bytes"
            throw fields.invalid("headers", because: "may have \(limits) together")
        }
        return headers
    }
}

// MARK: - Deciding

extension Chooser {
    /// The changes that rules make to a notification, and the notification as their verdicts see it; nil if there are none
    /// and no rule in shadow would make any. If the work is unfinished afterwards, there may be further ones.
    func amended(
        _ notification: NotificationView, _ work: inout DecisionWork, at now: Timestamp
    ) -> (view: NotificationView, by: Amendment)? {
        guard ruleSet.amends else { return nil }
        return work.withFacts(about: notification, under: ruleSet, at: now) { facts in
            let amendment = ruleSet.amendment(of: &facts)
            return amendment.remark.isEmpty ? nil : (facts.notification, amendment)
        }
    }

    /// The choice for a notification that would come at this time, with the changes of rules.
    ///
    /// - Parameter history: The past that rules look at; nil if there is none to know.
    package func tryOut(
        _ notification: NotificationView, in tenant: Tenant, at now: Timestamp, knowing history: RuleHistory? = nil
    ) -> (outcome: ChoiceOutcome, decision: Decision, amendment: Amendment) {
        var work = DecisionWork.unlimited
        return tryOut(notification, in: tenant, &work, at: now, knowing: history)
    }

    /// The same within the steps of a try. If the work is unfinished afterwards, nothing has been chosen.
    ///
    /// - Parameter receiver: The one session that may have the notification, as one of a broadcast; nil if any may.
    package func tryOut(
        _ notification: NotificationView, only receiver: SessionID? = nil, in tenant: Tenant,
        _ work: inout DecisionWork, at now: Timestamp, knowing history: RuleHistory? = nil
    ) -> (outcome: ChoiceOutcome, decision: Decision, amendment: Amendment) {
        let amended = amended(notification, &work, at: now)
        let view = amended?.view ?? notification
        var (outcome, decision) =
            if let receiver {
                choose(for: view, only: receiver, in: tenant, &work, at: now, knowing: history)
            } else {
                choose(for: view, from: tenant, &work, at: now, knowing: history)
            }
        if let amendment = amended?.by { decision.reason = amendment.noted(on: decision.reason) }
        return (outcome, decision, amended?.by ?? Amendment())
    }
}

extension Pipeline {
    /// The request with the changes of rules; nil if there are none.
    func amended(
        _ request: AcceptRequest, _ work: inout DecisionWork, at now: Timestamp
    ) throws(MissingFacts) -> AcceptRequest? {
        guard chooser.ruleSet.amends else { return nil }
        let found = chooser.amended(request.view, &work, at: now)
        guard !work.isUnfinished else { throw .steps }
        guard let (_, amendment) = found else { return nil }
        var amended = request
        amended.amendment = amendment
        if let priority = amendment.priority { amended.notification.priority = priority }
        if let expiration = amendment.expiration(from: now) { amended.notification.expiration = expiration }
        return amended
    }
}
