import PredicateEngine
package import RouterPlugin

/// The values that the condition of a declared rule may name.
enum RuleFields {
    static let schema = KeyPathSchema([
        .init("application", .text),
        .init("device", .text),
        .init("contentId", .text),
        .init("priority", .number),
        .init("kind", .choice(NotificationKind.allCases.map(\.rawValue))),
        .init("payload", .json),
        .init("candidate.session", .text),
        .init("candidate.device", .text),
        .init("candidate.role", .text),
        .init("candidate.configuration", .text),
        .init("candidate.activationState", .choice(ActivationState.allCases.map(\.name))),
        .init("candidate.secondsSinceActive", .number),
        .init("candidate.preferenceLevel", .number),
        .init("candidate.prefers", .boolean),
        .init("candidate.userInfo", .json),
    ])

    /// Whether a path leads into the candidate.
    static func isOfCandidate(_ path: PayloadPath) -> Bool { names(path).first == "candidate" }

    /// Whether a path leads into the `userInfo` of the candidate.
    static func isOfUserInfo(_ path: PayloadPath) -> Bool {
        let names = names(path)
        return names.count > 1 && names[0] == "candidate" && names[1] == "userInfo"
    }

    /// Whether a path leads into the payload.
    static func isOfPayload(_ path: PayloadPath) -> Bool { names(path).first == "payload" }

    static func names(_ path: PayloadPath) -> [String] {
        path.steps.compactMap { step in
            guard case .member(let name) = step else { return nil }
            return name.string
        }
    }
}

extension Candidate {
    /// The seconds since it last became active; nil if it never was.
    func secondsSinceActive(at now: Timestamp) -> Int64? {
        guard let lastActivatedAt else { return nil }
        let (gone, overflow) = now.milliseconds.subtractingReportingOverflow(lastActivatedAt.milliseconds)
        guard !overflow else { return lastActivatedAt < now ? Int64.max / 1000 : 0 }
        return max(0, gone / 1000)
    }

    /// All values of the candidate that conditions may name, as an object.
    func value(at now: Timestamp) -> PayloadValue {
        .object(
            PayloadObject([
                ("session", .string(session.text)), ("device", device.map { .string($0.text) } ?? .null),
                ("role", .string(role)), ("configuration", .string(configuration)),
                ("activationState", .string(activationState.name)),
                ("secondsSinceActive", secondsSinceActive(at: now).map(PayloadValue.integer) ?? .null),
                ("preferenceLevel", .integer(Int64(preferenceLevel))), ("prefers", .boolean(tier == .prefers)),
                ("userInfo", PayloadValue(userInfo)),
            ]))
    }
}

/// A notification as the conditions of rules see it. Its payload is parsed once, and only if a condition names it.
package struct NotificationFacts {
    package private(set) var notification: NotificationView
    package let time: Timestamp
    /// The past of the application; nil for rules that are tried out, and where no rule looks at it.
    package let history: RuleHistory?
    /// The steps that conditions take.
    var effort: ConditionEffort
    private var payload: PayloadValue?
    /// The values that conditions name, without the payload and with it.
    private var plain: PayloadEvaluation?
    private var whole: PayloadEvaluation?

    package init(_ notification: NotificationView, at now: Timestamp, knowing history: RuleHistory? = nil) {
        self.init(notification, at: now, knowing: history, ConditionEffort())
    }

    init(
        _ notification: NotificationView, at now: Timestamp, knowing history: RuleHistory?, _ effort: ConditionEffort
    ) {
        self.notification = notification
        time = now
        self.history = history
        self.effort = effort
    }

    /// Gives the notification another priority, which the rules that follow see.
    mutating func set(_ priority: Priority) {
        notification = NotificationView(notification, priority: priority)
        (plain, whole) = (nil, nil)
    }

    /// Whether a comparison holds that names no candidate; no answer if there are no steps for it.
    mutating func holds(_ comparison: RuleComparison) -> Bool {
        if let known = effort.known(comparison) { return known }
        guard effort.hasSteps(for: comparison) else { return false }
        let (holds, steps) = evaluate(comparison) { $0.holds(comparison.comparison) }
        effort.keep(holds, of: comparison, steps: steps)
        return holds
    }

    /// The condition of candidates under a comparison with values of the notification.
    ///
    /// It never holds if it exceeds `RouterLimits.payloadStepsPerVerdict` together with the comparisons before it.
    mutating func condition(of comparison: RuleComparison) -> CandidateCondition {
        if effort.known(comparison) == false { return .constant(false) }
        guard effort.hasSteps(for: comparison) else { return .constant(false) }
        var read = 0
        let (condition, steps) = evaluate(comparison) { evaluation -> CandidateCondition? in
            if comparison.readsPayload {
                let (before, limit) = (evaluation.work, 8 * RouterLimits.payloadStepsPerVerdict)
                for path in comparison.paths { evaluation.value(at: path).addSize(to: &read, limit: limit) }
                read += evaluation.work - before
                guard read <= limit else { return nil }
            }
            return CandidateComparison(comparison.comparison, under: evaluation.payload, reading: read).condition
        }
        if let condition, !comparison.readsPayload || effort.admitsVerdict(steps: condition.steps + read / 64) {
            effort.addRepeated(steps: steps)
            return condition
        }
        effort.keep(false, of: comparison, steps: steps)
        return .constant(false)
    }

    /// Evaluates `body` with the values that a comparison may name; returns its steps, too.
    private mutating func evaluate<Result>(
        _ comparison: RuleComparison, _ body: (inout PayloadEvaluation) -> Result
    ) -> (Result, steps: Int) {
        // Taken out: its texts are folded in place.
        var evaluation = take(readsPayload: comparison.readsPayload)
        let before = evaluation.work
        let result = body(&evaluation)
        let steps = (evaluation.work - before) * ConditionEffort.stepsOfVisit
        if comparison.readsPayload { whole = evaluation } else { plain = evaluation }
        return (result, steps)
    }

    private mutating func take(readsPayload: Bool) -> PayloadEvaluation {
        let known = readsPayload ? whole : plain
        if readsPayload { whole = nil } else { plain = nil }
        return known ?? evaluation(readsPayload: readsPayload)
    }

    /// A payload that is no JSON is `NULL`.
    private mutating func evaluation(readsPayload: Bool) -> PayloadEvaluation {
        var members: [(name: String, value: PayloadValue)] = [
            ("application", .string(notification.application.text)),
            ("device", notification.device.map { .string($0.text) } ?? .null),
            ("contentId", notification.contentID.map { .string($0.text) } ?? .null),
            ("priority", .integer(Int64(notification.priority.rawValue))),
            ("kind", .string(notification.kind.rawValue)),
        ]
        if readsPayload {
            if payload == nil { effort.addRepeated(steps: notification.payload.count * ConditionEffort.stepsOfByte) }
            let parsed = payload ?? (try? JSONValue(parsing: notification.payload)).map(PayloadValue.init) ?? .null
            payload = parsed
            members.append(("payload", parsed))
        }
        return PayloadEvaluation(payload: .object(PayloadObject(members)))
    }
}
