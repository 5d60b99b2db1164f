package import RouterPlugin

/// The conformance suite of remote rules: the same questions for a process and for a call-out.
package struct PluginCheck: Sendable {
    /// A law, and how the plugin breaks it; nil if it keeps it, or if the law is not for such a plugin.
    package struct Finding: Hashable, Sendable {
        package let law: String
        package let violation: String?
        package var isApplicable = true

        /// The finding in a line.
        package var verdict: String { violation ?? (isApplicable ? "ok" : "not applicable") }
    }

    private static let rounds = 200
    /// The time between two answers that must be the same, so that a rule which reads its own clock sees another second.
    private static let pause = Duration.milliseconds(1100)
    private let transport: any RuleTransport
    private let timeoutMilliseconds: Int
    private let now = Timestamp(milliseconds: 1_767_225_600_000)

    package init(_ transport: any RuleTransport, timeoutMilliseconds: Int) {
        self.transport = transport
        self.timeoutMilliseconds = timeoutMilliseconds
    }

    /// The result of a check.
    package struct Verdict: Hashable, Sendable {
        package let plugin: PluginID
        /// Nil for a call-out, which does not say it.
        package let version: String?
        package let findings: [Finding]

        package init(plugin: PluginID, version: String?, findings: [Finding]) {
            (self.plugin, self.version, self.findings) = (plugin, version, findings)
        }

        package var conforms: Bool { findings.allSatisfy { $0.violation == nil } }

        /// The verdict for a README, in Markdown.
        package var markdown: String {
            let name = (["`\(plugin)`"] + (version.map { [$0] } ?? [])).joined(separator: " ")
            let word = conforms ? "conforms" : "does not conform"
            let rows = findings.map { finding in
                "| \(finding.law) | \(finding.verdict.replacing("|", with: "\\|")) |"
            }
            return
                ([
                    "\(name) \(word) to version \(RuleProtocol.version) of routerd's rule protocol.", "",
                    "| law | verdict |",
                    "|---|---|",
                ] + rows).joined(separator: "\n")
        }
    }

    /// Runs the suite against the plugin.
    package func verdict(on plugin: PluginID) async -> Verdict {
        let findings = await run()
        return Verdict(plugin: plugin, version: await transport.status().version, findings: findings)
    }

    package func run() async -> [Finding] {
        await transport.start()
        let first = await ask(Self.notification(), Self.candidates(1))
        guard case .verdicts = first else {
            // A process that fails at each start leaves the question waiting: its fault says more than the late answer.
            let ofQuestions: Set<RuleFault> = [.late, .overloaded, .quarantined]
            let status = await transport.status()
            let causes = status.faults.filter { !ofQuestions.contains($0.key) }
            let cause = causes.max { ($0.value, $0.key.rawValue) < ($1.value, $1.key.rawValue) }?.key
            await transport.stop()
            let word = Self.word(first)
            let failure = status.lastFault.flatMap { $0.0.fault == cause ? $0.0 : nil } ?? cause.map { RuleFailure($0) }
            let violation =
                failure.map { $0.fault.rawValue == word ? "\($0)" : "\(word), because the process fails: \($0)" }
                ?? word
            return [Finding(law: "answers", violation: "the first question: \(violation)")]
        }
        var findings = [Finding(law: "answers", violation: nil)]
        findings.append(await garbage())
        findings.append(Finding(law: "bounds", violation: await bounds()))
        findings.append(Finding(law: "determinism", violation: await determinism()))
        findings.append(Finding(law: "parallel calls", violation: await parallel()))
        findings.append(Finding(law: "time budget", violation: await timeBudget()))
        await transport.stop()
        return findings
    }

    /// A message that is no JSON; a plugin that ends is started again. There is none for a rule of the program itself.
    private func garbage() async -> Finding {
        guard let transport = transport as? any GarbageTransport else {
            return Finding(law: "garbage", violation: nil, isApplicable: false)
        }
        let question = RuleProtocol.question(
            1, Self.notification(), Self.candidates(3), at: now, with: transport.settingsOfQuestions)
        return Finding(law: "garbage", violation: await transport.violationAfterGarbage(before: question))
    }

    private func ask(_ notification: NotificationView, _ candidates: [Candidate]) async -> RuleAnswer {
        await withCheckedContinuation { continuation in
            transport.ask(notification, candidates, at: now) { continuation.resume(returning: $0) }
        }
    }

    /// Hostile payloads and names, no content, and every number of candidates up to the greatest.
    private func bounds() async -> String? {
        let payloads: [[UInt8]] = [
            [], [0xFF, 0xFE], Array("null".utf8), Array(#"{"a":"\u0000"}"#.utf8),
            Array(repeating: 0x61, count: 256 * 1024),
            Array((String(repeating: "[", count: 60) + String(repeating: "]", count: 60)).utf8),
        ]
        for payload in payloads {
            for count in [1, RuleProtocol.candidates] {
                for contentID in [nil, "myapp://doc/42", "日本語 👩‍👩‍👧‍👦"] as [String?] {
                    let candidates = Self.candidates(count)
                    let answer = await ask(Self.notification(payload, contentID), candidates)
                    if let fault = violation(of: answer, about: candidates) {
                        return "\(Self.shown(payload)), \(count) candidates: \(fault)"
                    }
                }
            }
        }
        return nil
    }

    /// The number of bytes, and the bytes themselves if they are a short text.
    private static func shown(_ payload: [UInt8]) -> String {
        let text = payload.count > 40 ? nil : String(validating: payload, as: UTF8.self)
        return "payload of \(payload.count) bytes" + (text.map { $0.isEmpty ? "" : " (\($0))" } ?? "")
    }

    private func determinism() async -> String? {
        var questions: [(NotificationView, [Candidate])] = []
        for number in 0..<32 {
            let payload = Array(#"{"number":\#(number)}"#.utf8)
            questions.append((Self.notification(payload, "doc/\(number)"), Self.candidates(1 + number % 7)))
        }
        var answers: [RuleAnswer] = []
        for (notification, candidates) in questions { answers.append(await ask(notification, candidates)) }
        func asksAgain(_ when: String) async -> String? {
            for place in questions.indices.reversed() {
                let again = await ask(questions[place].0, questions[place].1)
                guard again == answers[place] else { return "asked \(when), question \(place) has two answers" }
            }
            return nil
        }
        if let violation = await asksAgain("twice") { return violation }
        try? await Task.sleep(for: Self.pause)
        return await asksAgain("again a second later at the same `at`")
    }

    private func parallel() async -> String? {
        let wanted = await ask(Self.notification(), Self.candidates(3))
        return await withTaskGroup(of: RuleAnswer.self) { group in
            for _ in 0..<32 { group.addTask { await ask(Self.notification(), Self.candidates(3)) } }
            for await answer in group where answer != wanted { return "asked in parallel: \(Self.word(answer))" }
            return nil
        }
    }

    private func timeBudget() async -> String? {
        var times = RecentTimes()
        for _ in 0..<Self.rounds {
            let began = ContinuousClock.now
            let answer = await ask(Self.notification(), Self.candidates(8))
            times.add(began.duration(to: .now))
            if case .fault(let fault) = answer { return fault.rawValue }
        }
        let slowest = Int(times.percentiles([0.99])?[0] ?? 0) / 1000
        return slowest > 1000 * timeoutMilliseconds / 2
            ? "99 of 100 answers take up to \(slowest) µs, more than half of the time limit" : nil
    }

    private func violation(of answer: RuleAnswer, about candidates: [Candidate]) -> String? {
        guard case .verdicts(let verdicts) = answer else { return Self.word(answer) }
        let asked = Set(candidates.map(\.session))
        for (session, verdict) in verdicts.sorted(by: { $0.key < $1.key }) {
            guard asked.contains(session) else { return "a verdict on \(session), which the question does not name" }
            switch verdict {
            case .hold(let until, _) where until <= now: return "hold: the time is not later than now"
            case .redirect(let target, _) where !asked.contains(target):
                return "redirect: \(target) is no session of the question"
            default: break
            }
        }
        return nil
    }

    private static func word(_ answer: RuleAnswer) -> String {
        switch answer {
        case .fault(let fault): fault.rawValue
        case .verdicts: "another answer"
        case .kept: "kept"
        }
    }

    private static func notification(
        _ payload: [UInt8] = Array(#"{"aps":{"alert":"x"}}"#.utf8), _ contentID: String? = "doc/1"
    ) -> NotificationView {
        NotificationView(
            application: ApplicationID(unchecked: "com.example.Gallery"), device: nil,
            contentID: contentID.map { ContentID(unchecked: $0) }, priority: .high, payload: payload)
    }

    private static func candidates(_ count: Int) -> [Candidate] {
        (0..<count).map { number in
            Candidate(
                session: SessionID(unchecked: "win-\(number)"), device: nil,
                role: number % 5 == 4 ? "a \"role\" – 役" : "windowApplication", configuration: "Default Configuration",
                activationState: ActivationState.allCases[number % 4],
                lastActivatedAt: number % 3 == 0 ? nil : Timestamp(milliseconds: Int64(number)),
                preferenceLevel: number % 2 == 0 ? 0 : -number, tier: number % 2 == 0 ? .prefers : .can)
        }
    }
}
