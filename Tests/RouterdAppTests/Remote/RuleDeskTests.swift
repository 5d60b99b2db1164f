import HTTPTypes
import Router
import RouterPlugin
import Synchronization
import TestSupport
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// How remote rules are asked about one notification, and how many commands wait for them.
@Suite("RuleDesk", .longest)
struct RuleDeskTests {
    /// A rule that answers at once, and remembers the pages that it was asked about.
    private final class Script: RuleTransport {
        private let answer: @Sendable ([Candidate]) -> RuleAnswer
        private let pages = Mutex<[[String]]>([])
        private let failures = Mutex<[RuleFailure]>([])

        init(_ answer: @escaping @Sendable ([Candidate]) -> RuleAnswer) { self.answer = answer }

        var asked: [[String]] { pages.withLock { $0 } }
        var refusals: [RuleFailure] { failures.withLock { $0 } }

        func ask(
            _ notification: NotificationView, _ candidates: [Candidate], at now: Timestamp,
            completion: @escaping @Sendable (RuleAnswer) -> Void
        ) {
            pages.withLock { $0.append(candidates.map(\.session.text)) }
            completion(answer(candidates))
        }

        func status() async -> RemoteRuleStatus { RemoteRuleStatus(rung: "script", state: "ready") }
        func refused(_ failure: RuleFailure) { failures.withLock { $0.append(failure) } }
        func enable() async {}
        func start() async {}
        func stop() async {}
    }

    private static let (first, second) = (PluginID(unchecked: "rule.first"), PluginID(unchecked: "rule.second"))

    private static func all(_ verdict: RoutingVerdict) -> @Sendable ([Candidate]) -> RuleAnswer {
        { candidates in .verdicts(Dictionary(uniqueKeysWithValues: candidates.map { ($0.session, verdict) })) }
    }

    private func member(
        _ id: PluginID, _ script: Script, only application: String? = nil, failure: RemoteRule.Failure = .open
    ) -> RuleDesk.Member {
        let rule = RemoteRule(
            id: id, transport: .callOut(CallOutSettings(url: "http://a")), failure: failure,
            applications: application.map { [ApplicationID(unchecked: $0)] })
        return RuleDesk.Member(rule, script)
    }

    private func question(_ candidates: Int, isAboutAll: Bool = false) -> RemoteQuestion {
        let view = NotificationView(
            application: ApplicationID(unchecked: "a"), device: nil, contentID: nil, priority: .high, payload: [])
        return RemoteQuestion(view, (0..<candidates).map { .named("s\($0)") }, isAboutAll: isAboutAll)
    }

    @Test func onePageIsEnoughUnlessAllOfItIsVetoed() async {
        let script = Script(Self.all(.accept))
        let desk = RuleDesk([member(Self.first, script)])
        let answers = await desk.answers(to: question(130), at: Timestamp(milliseconds: 0))
        #expect(script.asked.map(\.count) == [64])
        guard case .verdicts(let verdicts)? = answers?[Self.first] else { Issue.record("no verdicts"); return }
        #expect(verdicts.count == 64)
    }

    @Test func everyPageIsAskedAboutABroadcast() async {
        let script = Script(Self.all(.accept))
        let desk = RuleDesk([member(Self.first, script)])
        let answers = await desk.answers(to: question(130, isAboutAll: true), at: Timestamp(milliseconds: 0))
        #expect(script.asked.map(\.count) == [64, 64, 2])
        guard case .verdicts(let verdicts)? = answers?[Self.first] else { Issue.record("no verdicts"); return }
        #expect(verdicts.count == 130)
    }

    @Test func vetoedPagesAreFollowedByTheNextOnes() async {
        let script = Script(Self.all(.veto(reason: "no")))
        let desk = RuleDesk([member(Self.first, script)])
        let answers = await desk.answers(to: question(130), at: Timestamp(milliseconds: 0))
        #expect(script.asked.map(\.count) == [64, 64, 2])
        #expect(script.asked.flatMap { $0 } == (0..<130).map { "s\($0)" })
        #expect(answers?.vetoes(of: Self.first).count == 130)
    }

    /// Two rules that veto a half each leave nothing of the page.
    @Test func vetoesOfSeveralRulesCountTogether() async {
        let odd = Script { candidates in
            .verdicts(
                Dictionary(
                    uniqueKeysWithValues: candidates.enumerated().map {
                        ($1.session, $0 % 2 == 1 ? .veto(reason: "odd") : .accept)
                    }))
        }
        let even = Script { candidates in
            .verdicts(
                Dictionary(
                    uniqueKeysWithValues: candidates.enumerated().map {
                        ($1.session, $0 % 2 == 0 ? .veto(reason: "even") : .accept)
                    }))
        }
        let desk = RuleDesk([member(Self.first, odd), member(Self.second, even)])
        _ = await desk.answers(to: question(70), at: Timestamp(milliseconds: 0))
        #expect(odd.asked.map(\.count) == [64, 6] && even.asked.map(\.count) == [64, 6])
    }

    /// The fault of a later page does not take back the answer of an earlier one.
    @Test func aFaultOfALaterPageKeepsTheFirst() async {
        let script = Script { candidates in
            candidates.first?.session.text == "s0" ? Self.all(.veto(reason: "no"))(candidates) : .fault(.late)
        }
        let desk = RuleDesk([member(Self.first, script)])
        let answers = await desk.answers(to: question(100), at: Timestamp(milliseconds: 0))
        #expect(answers?.vetoes(of: Self.first).count == 64)
    }

    @Test func aRuleOfAnotherApplicationIsNotAsked() async {
        let (own, other) = (Script(Self.all(.accept)), Script(Self.all(.accept)))
        let desk = RuleDesk([member(Self.first, own), member(Self.second, other, only: "b")])
        let answers = await desk.answers(to: question(1), at: Timestamp(milliseconds: 0))
        #expect(own.asked.count == 1 && other.asked.isEmpty && answers?[Self.second] == nil)
    }

    @Test func withoutCandidatesNothingIsAsked() async {
        let script = Script(Self.all(.accept))
        let desk = RuleDesk([member(Self.first, script)])
        let answers = await desk.answers(to: question(0), at: Timestamp(milliseconds: 0))
        #expect(script.asked.isEmpty && answers?[Self.first] == .verdicts([:]))
    }

    /// The commands of a request enter the engine when all of their notifications have answers.
    @Test func eachNotificationOfARequestHasItsAnswer() async throws {
        let script = Script { candidates in
            .verdicts(candidates.first.map { [$0.session: .veto(reason: "no")] } ?? [:])
        }
        let member = member(Self.first, script)
        try await withDaemon(.init(rules: [member.rule], desk: RuleDesk([member]))) { daemon in
            try await daemon.putGallery()
            for id in ["A", "B"] { try await daemon.putSession(id, at: "http://127.0.0.1:9/hook") }
            let lines = try await daemon.call(
                .post, "\(TestDaemon.gallery)/notifications:batch", "{}\n{}\n{}"
            ).lines
            #expect(lines.map { $0.at("decision", "session") } == ["B", "B", "B"])
            #expect(script.asked == [["A", "B"], ["A", "B"], ["A", "B"]])
        }
    }

    /// A redirect to a session that is not there takes the answer's place by a fault, and the setting of the rule decides.
    @Test(arguments: [RemoteRule.Failure.open, .closed])
    func aRedirectToNoSessionIsAFault(failure: RemoteRule.Failure) async throws {
        let script = Script(Self.all(.redirect(to: SessionID(unchecked: "Z"), reason: "r")))
        let member = member(Self.first, script, failure: failure)
        let refusal = RuleFailure(.malformed, because: "to: A is redirected to Z, and there is no such session")
        try await withDaemon(.init(rules: [member.rule], desk: RuleDesk([member]))) { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("A", at: "http://127.0.0.1:9/hook")
            let posted = try await daemon.call(.post, "\(TestDaemon.gallery)/notifications", "{}")
            #expect(posted["decision", "session"] == (failure == .open ? "A" : .null), "\(posted.text)")
            #expect(posted.text.contains("no answer: malformed"), "\(posted.text)")
            #expect(script.refusals == [refusal])
            let explained = try await daemon.call(.post, "\(TestDaemon.gallery)/explain", "{}")
            #expect(explained.text.contains("no answer: malformed"), "\(explained.text)")
            #expect(script.refusals == [refusal, refusal])
        }
    }

    @Test func aRedirectToAnotherSessionIsFollowed() async throws {
        let script = Script { candidates in
            .verdicts(
                Dictionary(
                    uniqueKeysWithValues: candidates.map {
                        ($0.session, .redirect(to: SessionID(unchecked: "B"), reason: "r"))
                    }))
        }
        let member = member(Self.first, script)
        try await withDaemon(.init(rules: [member.rule], desk: RuleDesk([member]))) { daemon in
            try await daemon.putGallery()
            for id in ["A", "B"] { try await daemon.putSession(id, at: "http://127.0.0.1:9/hook") }
            let posted = try await daemon.call(.post, "\(TestDaemon.gallery)/notifications", "{}")
            #expect(posted["decision", "session"] == "B" && script.refusals.isEmpty, "\(posted.text)")
        }
    }

    /// A trial of rules says once that remote rules are not asked.
    @Test func aTrialSaysOnceThatNothingIsAsked() async throws {
        let (first, second) = (Script(Self.all(.accept)), Script(Self.all(.accept)))
        let members = [member(Self.first, first), member(Self.second, second, only: "com.example.gallery")]
        let other = member(PluginID(unchecked: "rule.third"), first, only: "com.example.other")
        let all = members + [other]
        try await withDaemon(.init(rules: all.map(\.rule), desk: RuleDesk(all))) { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("A", at: "http://127.0.0.1:9/hook")
            let answer = try await daemon.call(
                .post, "/v1/rules/evaluate", #"{"application": "com.example.gallery", "notification": {}}"#)
            #expect(answer["notAsked", "rules"] == ["rule.first", "rule.second"], "\(answer.text)")
            #expect(answer["notAsked", "reason"].asString?.contains("not asked in a trial") == true)
            #expect(!answer.text.contains("no answer"), "\(answer.text)")
            #expect(first.asked.isEmpty && second.asked.isEmpty)
            let explained = try await daemon.call(.post, "\(TestDaemon.gallery)/explain", "{}")
            #expect(explained["notAsked"] == .null && first.asked.count == 1, "\(explained.text)")
        }
    }

    // MARK: - Admission

    @Test func oneApplicationLeavesRoomForOthers() {
        var admission = Admission()
        let (busy, calm) = (ApplicationID(unchecked: "busy"), ApplicationID(unchecked: "calm"))
        var taken = 0
        while admission.admit(1, of: busy) { taken += 1 }
        #expect(taken == DaemonLimits.commandsAskingOfApplication)
        let isCalmAdmitted = admission.admit(1, of: calm)
        #expect(isCalmAdmitted)
        admission.release(1, of: busy)
        let again = [admission.admit(1, of: busy), admission.admit(1, of: busy)]
        #expect(again == [true, false])
    }

    @Test func allApplicationsTogetherHaveALimit() {
        var admission = Admission()
        var taken = 0
        for number in 0..<10 {
            while admission.admit(64, of: ApplicationID(unchecked: "\(number)")) { taken += 64 }
        }
        #expect(taken == DaemonLimits.commandsAsking)
        for number in 0..<10 where number < DaemonLimits.commandsAsking / DaemonLimits.commandsAskingOfApplication {
            admission.release(DaemonLimits.commandsAskingOfApplication, of: ApplicationID(unchecked: "\(number)"))
        }
        let isAdmitted = admission.admit(DaemonLimits.commandsAsking, of: ApplicationID(unchecked: "0"))
        #expect(isAdmitted)
    }

    // MARK: - Paths

    private func reads(
        _ command: [String], hiding hidden: [String] = [], _ reads: [String] = [], names: [String: [String]] = [:]
    ) -> [String] {
        var settings = ProcessSettings(command: command)
        settings.reads = reads
        let folders: Set = ["/srv/rules", "/srv"]
        return PluginFolder.reads(of: settings, hiding: hidden) { path in
            path.hasPrefix("/missing") ? nil : folders.contains(path)
        } names: {
            names[$0] ?? []
        }
    }

    @Test func aCommandMayReadItsFolders() {
        #expect(
            reads(["/opt/tool/bin/run", "/srv/rules/a/rule.py", "-x", "rel/path", "/srv/rules"])
                == ["/opt/tool", "/srv/rules/a", "/srv/rules"])
        #expect(reads(["/srv/tool/run"], ["/data"]) == ["/data", "/srv/tool"])
        #expect(reads(["python3", "/missing/a"]) == [])
    }

    /// The daemon's files are not opened to a plugin that lies beside them.
    @Test func aFolderWithHiddenFilesIsLeftOut() {
        let database = "/var/lib/routerd/routerd.sqlite"
        #expect(reads(["/var/lib/routerd/rule.py"], hiding: [database]) == ["/var/lib/routerd/rule.py"])
        #expect(reads(["/var/rule.py"], hiding: [database]) == ["/var/rule.py"])
        #expect(reads(["/rule.py", "/bin/x"]) == ["/rule.py", "/bin"])
        #expect(reads(["/var/library/rule.py"], hiding: [database]) == ["/var/library"])
    }

    /// A plugin that lies beside the database reads its own files, and none of the database.
    @Test func aFolderWithTheDatabaseIsReadFileByFile() {
        let hidden = ["/srv/x/routerd.sqlite", "/srv/x/plugins/com.example"]
        let names = [
            "plugins", "routerd.sqlite", "routerd.sqlite-wal", "routerd.sqlite.lock", "rule.py", "lib",
            "routerd_rule.py",
        ]
        #expect(
            reads(["/usr/bin/python3", "/srv/x/rule.py"], hiding: hidden, names: ["/srv/x": names])
                == ["/usr", "list:/srv/x", "/srv/x/lib", "/srv/x/routerd_rule.py", "/srv/x/rule.py"])
        let many = (0...1024).map { "\($0).py" }
        #expect(reads(["/srv/x/1.py"], hiding: hidden, names: ["/srv/x": many]) == ["/srv/x/1.py"])
    }

    private func closed(_ permissions: [String: Int], isPrivileged: Bool = true) -> String? {
        let settings = ProcessSettings(command: ["python3", "/srv/rules/rule.py", "relative", "/missing/file", "/"])
        return PluginFolder.closedPath(of: settings, isPrivileged: isPrivileged) { permissions[$0] }
    }

    @Test func theFirstPathThatIsClosedToPluginsIsFound() {
        #expect(closed(["/srv": 0o711, "/srv/rules": 0o711, "/srv/rules/rule.py": 0o644]) == nil)
        #expect(closed(["/srv": 0o711, "/srv/rules": 0o755, "/srv/rules/rule.py": 0o751]) == nil)
        #expect(closed(["/srv": 0o711, "/srv/rules": 0o755, "/srv/rules/rule.py": 0o640]) == "/srv/rules/rule.py")
        #expect(closed(["/srv": 0o711, "/srv/rules": 0o754, "/srv/rules/rule.py": 0o640]) == "/srv/rules")
        #expect(closed(["/srv": 0o700], isPrivileged: false) == nil)
    }
}
