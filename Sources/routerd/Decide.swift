import ArgumentParser
import PredicateEngine
import Router
import RouterPlugin
import RouterdApp

struct Decide: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Decide content ids among the sessions of a file, without a daemon.",
        discussion: """
            The sessions are JSON lines, each a session body with "id"; the subjects are content ids, one a line, an
            empty line standing for no content id. Prints one JSON line a subject: {"subject", "tier", "session"}.
            """)

    @Option(help: "Sessions as JSON lines.")
    var sessions: String
    @Option(help: "Content ids, one a line.")
    var subjects: String
    @Flag(help: "Check each decision against brute force.")
    var verify = false
    @Flag(help: "Print JSON, which is what is printed anyway.")
    var json = false

    func run() throws {
        let id = ApplicationID(unchecked: "decide")
        var tenant = Tenant<LinearRegistry>(application: Application(id: id))
        for (number, line) in Console.lines(try Console.read(sessions)) {
            do {
                let value = try JSONValue(parsing: Array(line))
                tenant.put(try SessionBody.readWithID(value, within: .unguarded).1.session(value, in: id, at: number))
            } catch {
                Console.error("\(sessions):\(number): \(Self.told(error))")
                throw ExitCode(1)
            }
        }
        var mistakes = 0
        for line in subjectLines(try Console.read(subjects)) { mistakes += try decide(line, in: tenant) ? 0 : 1 }
        guard mistakes == 0 else {
            Console.error("\(mistakes) decisions differ from brute force")
            throw ExitCode(1)
        }
    }

    /// Prints the decision; returns whether brute force, if it is asked, agrees.
    private func decide(_ line: ArraySlice<UInt8>, in tenant: Tenant<LinearRegistry>) throws -> Bool {
        guard let text = String(validating: line, as: UTF8.self) else {
            throw ValidationError("A subject is not UTF-8.")
        }
        let contentID = text.isEmpty ? nil : ContentID(unchecked: text)
        let view = NotificationView(
            application: tenant.application.id, device: nil, contentID: contentID, priority: .high, payload: [])
        let decision = Chooser().choose(for: view, from: tenant, at: Timestamp(milliseconds: 0)).decision
        Console.print(
            JSONWriter.object {
                $0.field("subject", contentID?.text)
                $0.field("tier", decision.tier.rawValue)
                $0.field("session", decision.session)
            })
        guard verify else { return true }
        let expected = BruteForce.decide(contentID, among: tenant.sessions.values)
        if expected?.tier == decision.tier, expected?.session == decision.session { return true }
        return expected == nil && decision.session == nil
    }

    private func subjectLines(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        return lines.map { $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0 }
    }

    private static func told(_ error: any Error) -> String {
        switch error {
        case let problem as Problem:
            let place = problem.pointer.map { "\($0): " } ?? ""
            let caret = problem.predicate.map { "\n\($0.caret)" } ?? ""
            return "\(place)\(problem.detail)\(caret)"
        default: return "\(error)"
        }
    }
}

extension SessionDraft {
    /// The draft as a session of its own, created in the order of the file.
    fileprivate func session(_ value: JSONValue, in application: ApplicationID, at place: Int) throws -> SceneSession {
        let id = SessionID(unchecked: value["id"]?.asString ?? "")
        return SceneSession(
            key: SessionKey(application: application, session: id), role: role, configuration: configuration ?? "",
            device: device, activationState: activationState, conditions: conditions,
            creationSequence: Int64(place))
    }
}

/// The choice as its definition reads, with nothing in common with the registry but the evaluator.
private enum BruteForce {
    static func decide(
        _ contentID: ContentID?, among sessions: some Collection<SceneSession>
    ) -> (tier: Tier, session: SessionID)? {
        let subject = contentID?.text
        let preferring = sessions.filter { subject != nil && $0.conditions.prefersToActivate.evaluate(with: subject) }
        if let best = preferring.min(by: { isBetter($0, $1, levels: true) }) { return (.prefers, best.key.session) }
        let able = sessions.filter { subject == nil || $0.conditions.canActivate.evaluate(with: subject) }
        return able.min { isBetter($0, $1, levels: false) }.map { (.can, $0.key.session) }
    }

    private static func isBetter(_ one: SceneSession, _ other: SceneSession, levels: Bool) -> Bool {
        let (level, otherLevel) = (one.conditions.preferenceLevel, other.conditions.preferenceLevel)
        if levels, level != otherLevel { return level > otherLevel }
        if one.activationState != other.activationState { return one.activationState > other.activationState }
        return one.creationSequence < other.creationSequence
    }
}
