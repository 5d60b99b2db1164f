import Router
import RouterPlugin
import Synchronization

/// The exchange of the rules in processes and behind URLs, whole or not at all.
///
///     new members are made and checked ──▶ commands that rules concern wait ──▶ questions under way end, and their commands
///     are committed ──▶ the change is committed ──▶ new members are asked about the commands that waited ──▶ old ones stop
///
/// A notification is so asked about and decided under the rules of one version.
extension RuleDesk {
    /// A rule that cannot be used, and why.
    struct NotReady: Sendable, CustomStringConvertible {
        let rule: PluginID
        let reason: String

        var description: String { "\(rule) is not ready: \(reason)" }
    }

    /// The result of an exchange.
    enum Exchanged: Sendable {
        /// The change is committed, or refused: then everything is as it was. Nil if too many commands wait.
        case replied(Reply?)
        case notReady(NotReady)
    }

    /// The exchange under way, and the next ones, which take turns.
    struct Exchanges {
        /// Whether questions wait for the end of an exchange.
        var isUnderWay = false
        /// Commands whose questions have been asked and that are not in the inbox yet.
        var asking = 0
        fileprivate var isTaken = false
        fileprivate var turns: [CheckedContinuation<Void, Never>] = []
        fileprivate var whenAsked: CheckedContinuation<Void, Never>?
        fileprivate var whenAnswered: CheckedContinuation<Void, Never>?

        init() {}

        /// A question has its answers.
        mutating func answered() {
            whenAnswered?.resume()
            whenAnswered = nil
        }

        mutating func goOn() {
            guard asking == 0 else { return }
            whenAsked?.resume()
            whenAsked = nil
        }
    }

    /// Whether commands wait for the end of an exchange.
    var isExchanging: Bool { exchanges.isUnderWay }

    /// Commits a change of the rules, with the members for these rules from then on. A rule that is there already keeps its
    /// processes.
    func exchange(_ rules: [any RoutingRule], by change: Command, of host: EngineHost) async -> Exchanged {
        await takeTurn()
        defer { endTurn() }
        let old = self.members
        let wanted = rules.compactMap { $0 as? RemoteRule }
        if Set(wanted) == Set(old.map(\.rule)) { return .replied(await host.submit([change])?.first) }
        var (members, fresh): ([Member], [Member]) = ([], [])
        for rule in wanted {
            if let known = old.first(where: { $0.rule == rule }) {
                members.append(known)
                continue
            }
            do throws(PluginFolderError) {
                guard let make else {
                    return .notReady(NotReady(rule: rule.id, reason: "this daemon starts no plugins"))
                }
                fresh.append(Member(rule, try make(rule)))
            } catch {
                return .notReady(NotReady(rule: rule.id, reason: error.description))
            }
            members.append(fresh[fresh.count - 1])
        }
        if let failure = await Self.prepare(fresh) {
            for member in fresh { await member.transport.stop() }
            return .notReady(failure)
        }
        membership.withLock { $0.coming = members }
        exchanges.isUnderWay = true
        if exchanges.asking > 0 { await withCheckedContinuation { exchanges.whenAsked = $0 } }
        await host.settled()
        let reply = await host.submit([change])?.first
        let isUsed = reply?.isChangeOfRules ?? false
        membership.withLock { $0 = Membership(members: isUsed ? members : old) }
        exchanges.isUnderWay = false
        askHeld()
        let kept = isUsed ? members : old
        let gone = (old + fresh).filter { member in !kept.contains { $0.identity === member.identity } }
        // Explanations may still be under way.
        while isAsking(gone) { await withCheckedContinuation { exchanges.whenAnswered = $0 } }
        for member in gone { await member.transport.stop() }
        return .replied(reply)
    }

    /// Starts members, all at once; returns why the first of them that is not ready is not.
    private static func prepare(_ members: [Member]) async -> NotReady? {
        await withTaskGroup(of: (place: Int, failure: RuleFailure?).self) { group in
            for (place, member) in members.enumerated() {
                group.addTask { (place, await member.transport.prepare()) }
            }
            var failures: [(place: Int, failure: RuleFailure)] = []
            for await (place, failure) in group {
                if let failure { failures.append((place, failure)) }
            }
            return failures.min { $0.place < $1.place }.map { first in
                NotReady(rule: members[first.place].rule.id, reason: first.failure.description)
            }
        }
    }

    private func takeTurn() async {
        guard exchanges.isTaken else {
            exchanges.isTaken = true
            return
        }
        await withCheckedContinuation { exchanges.turns.append($0) }
    }

    private func endTurn() {
        guard exchanges.turns.isEmpty else { return exchanges.turns.removeFirst().resume() }
        exchanges.isTaken = false
    }
}

extension Reply {
    /// Whether the command has put rules.
    fileprivate var isChangeOfRules: Bool {
        switch self {
        case .rules, .applied: true
        default: false
        }
    }
}
