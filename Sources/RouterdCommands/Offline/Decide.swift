import ArgumentParser
import Router
import RouterPlugin
import RouterdApp

struct Decide: PluginCommand {
    static let configuration = CommandConfiguration(
        abstract: "Decide content ids among the sessions of a file, without a daemon.",
        discussion: """
            The sessions are JSON lines, each a session body with "id"; the subjects are content ids, one a line, an \
            empty line standing for no content id. Prints one JSON line a subject: {"subject", "tier", "session"}.

            EXAMPLES
              routerd decide --sessions sessions.jsonl --subjects subjects.txt --verify
            """)

    @Option(help: "Sessions as JSON lines.")
    var sessions: String
    @Option(help: "Content ids, one a line.")
    var subjects: String
    @Option(help: "Only sessions of this device are asked.")
    var device: String?
    @Flag(help: "Sessions that prefer a content must be able to show it too.")
    var prefersRequiresCan = false
    @Flag(help: "Check each decision against brute force.")
    var verify = false
    @Flag(help: "Print JSON, which is the default.")
    var json = false

    func run(with plugins: PluginSet) async throws {
        let routing = RoutingSettings(prefersRequiresCan: prefersRequiresCan)
        var all: [SceneSession] = []
        try SessionFile(path: sessions, formats: plugins.deliveryFormats).forEach { all.append($0) }
        // As a daemon does at its start.
        var tenant = Tenant(
            application: Application(id: ApplicationID(unchecked: "decide"), routing: routing),
            expecting: all.count)
        var bruteForce = BruteForce(
            device: device.map(DeviceID.init(unchecked:)), prefersRequiresCan: prefersRequiresCan)
        for session in all {
            tenant.put(session)
            if verify { bruteForce.put(session) }
        }
        var mistakes = 0
        for contentID in try SessionFile.subjects(subjects) {
            let decision = decide(contentID, in: tenant)
            guard verify, let fault = bruteForce.fault(of: decision, about: contentID) else { continue }
            mistakes += 1
            Console.error("'\(contentID?.text ?? "")': \(fault)")
        }
        guard mistakes == 0 else {
            Console.error("\(mistakes) decisions differ from brute force")
            throw ExitCode(1)
        }
    }

    /// Makes the decision and prints it.
    private func decide(_ contentID: ContentID?, in tenant: Tenant) -> Decision {
        let view = NotificationView(
            application: tenant.application.id, device: device.map(DeviceID.init(unchecked:)), contentID: contentID,
            priority: .high, payload: [])
        // In turns, as a daemon decides.
        let now = Timestamp(milliseconds: 0)
        var work = DecisionWork(limit: RouterLimits.decisionSteps)
        var decision = Chooser().choose(for: view, from: tenant, &work, at: now).decision
        while work.isUnfinished {
            work.resume(RouterLimits.stepsPerTurn)
            decision = Chooser().choose(for: view, from: tenant, &work, at: now).decision
        }
        Console.print(
            JSONWriter.object {
                $0.field("subject", contentID?.text)
                $0.field("tier", decision.tier.rawValue)
                $0.field("session", decision.session)
            })
        return decision
    }
}
