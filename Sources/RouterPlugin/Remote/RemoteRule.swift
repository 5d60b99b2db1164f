/// A rule whose verdicts come from a process of its own or from an HTTP server.
///
/// As a value it is pure like every rule: its verdict is the answer that the notification bears as a fact. A session that
/// no answer names gets the verdict of `failure`.
package struct RemoteRule: RoutingRule, Hashable, ScopedRule {
    /// The consequence of a missing answer.
    package enum Failure: String, CaseIterable, Hashable, Sendable {
        /// The rule has no objection.
        case open
        /// The rule vetoes.
        case closed
    }

    /// The place that answers.
    package enum Transport: Hashable, Sendable {
        case process(ProcessSettings)
        case callOut(CallOutSettings)
    }

    package let id: PluginID
    package let transport: Transport
    package let failure: Failure
    package let timeoutMilliseconds: Int
    /// The number of faults one after the other that put the rule into quarantine.
    package let quarantineAfter: Int
    /// The applications whose notifications it decides on; nil for all.
    package let applications: Set<ApplicationID>?
    /// The object that the plugin receives unchanged.
    package let settings: JSONValue
    /// The members of the candidates' `userInfo` that questions have.
    package let userInfo: [String]

    package init(
        id: PluginID, transport: Transport, failure: Failure = .open, timeoutMilliseconds: Int = 100,
        quarantineAfter: Int = 10, applications: Set<ApplicationID>? = nil, settings: JSONValue = .object(JSONObject()),
        userInfo: [String] = []
    ) {
        self.id = id
        self.transport = transport
        self.failure = failure
        self.timeoutMilliseconds = timeoutMilliseconds
        self.quarantineAfter = quarantineAfter
        self.applications = applications
        self.settings = settings
        self.userInfo = userInfo
    }

    package var looksAhead: Bool { true }

    package func applies(to application: ApplicationID) -> Bool { applications?.contains(application) ?? true }

    package func verdict(
        on candidate: Candidate, for notification: NotificationView, at now: Timestamp
    ) -> RoutingVerdict {
        guard applies(to: notification.application) else { return .accept }
        let answer = notification.answers?[id]
        if case .kept(let verdicts, let others)? = answer, let verdict = verdicts[candidate.session] ?? others {
            return verdict
        }
        if case .verdicts(let verdicts)? = answer, let verdict = verdicts[candidate.session] { return verdict }
        switch failure {
        case .open: return .accept
        case .closed: return .veto(reason: Self.lack(answer))
        }
    }

    /// A sentence for the reason of a decision that was made without the rule's answer; nil if it has answered, was not
    /// concerned, or is not asked because the decision is a trial.
    package func lack(for notification: NotificationView) -> String? {
        guard applies(to: notification.application), notification.answers?.isTrial != true else { return nil }
        switch notification.answers?[id] {
        case .verdicts, .kept: return nil
        case let answer: return Self.lack(answer)
        }
    }

    /// Whether a veto's reason is a missing answer, and no verdict of the rule.
    package static func isLack(_ reason: String) -> Bool { reason.hasPrefix(lackPrefix) }

    /// The fault in such a reason; nil if the rule was not asked.
    package static func fault(in reason: String) -> RuleFault? {
        isLack(reason) ? RuleFault(rawValue: String(reason.dropFirst(lackPrefix.count))) : nil
    }

    private static let lackPrefix = "no answer: "

    private static func lack(_ answer: RuleAnswer?) -> String {
        switch answer {
        case .fault(let fault): "no answer: \(fault.rawValue)"
        case .verdicts, .kept: "no answer: the session was not among those that the rule was asked about"
        case nil: "no answer: not asked"
        }
    }
}

/// The process that a remote rule runs in.
package struct ProcessSettings: Hashable, Sendable {
    /// The program and its arguments.
    package var command: [String]
    /// The number of processes that share the questions.
    package var workers = 1
    /// Mebibytes of writable memory of a process.
    package var memoryMebibytes = 512
    /// Processes and threads of a worker.
    package var processes = 32
    /// Seconds of processor time, after which a worker is replaced.
    package var processorSeconds = 3600
    /// Whether it may use the network.
    package var network = false
    /// Files and folders that it may read, beside the system's programs and the folders of its command.
    package var reads: [String] = []

    package init(command: [String]) {
        self.command = command
    }
}

/// The server that a remote rule asks.
package struct CallOutSettings: Hashable, Sendable {
    package var url: String
    /// The members of a question that determine its answer, besides the sessions; empty for no cache.
    package var cacheBy: [CacheKeyPart] = []
    package var cacheSeconds = 60

    /// A member of a question.
    package enum CacheKeyPart: String, CaseIterable, Hashable, Sendable {
        case application, device, contentId, priority, kind
    }

    package init(url: String) {
        self.url = url
    }
}
