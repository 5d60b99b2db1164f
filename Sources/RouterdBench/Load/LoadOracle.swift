import PredicateEngine
import Router
package import RouterPlugin

/// The sessions that a notification may come to, by brute force: every predicate of every session is asked about every content
/// before the run, and states are those that the run has set.
///
/// A change of state is known by the times of its request and of its answer. A notification whose request was under way at
/// the same time may be decided before or after it, so each of several sessions may be the right one:
///
///     change        ──────sent══════════answered──────▶     at ══ both states are possible
///     notification  ───────────sent══accepted─────────▶
package struct LoadOracle: Sendable {
    /// A state of a session, possible from its request until the answer to the next change.
    private struct Version {
        var state: ActivationState
        /// In RFC 3339, whose order is that of times; empty for never.
        var activatedAt: String
        var from: UInt64
        var until: UInt64?
    }

    private struct Rank: Comparable {
        var level: Int
        var state: ActivationState
        var activatedAt: String
        /// The order of creation is that of the places.
        var place: Int

        static func < (left: Rank, right: Rank) -> Bool {
            if left.level != right.level { return left.level < right.level }
            if left.state != right.state { return left.state < right.state }
            if left.activatedAt != right.activatedAt { return left.activatedAt < right.activatedAt }
            return left.place > right.place
        }
    }

    /// Behind every time of RFC 3339: that of a change whose answer has not come.
    private static let later = "~"

    private let levels: [Int]
    private var versions: [[Version]]
    /// The sessions of each content, by their places.
    private let preferring: [[Int]]
    private let able: [[Int]]
    private let mayLeave: @Sendable (Int) -> Bool

    /// - Parameter mayLeave: Whether a session may take no part at any time, as after a 410 of its receiver.
    package init(_ workload: LoadWorkload, mayLeave: @escaping @Sendable (Int) -> Bool = { _ in false }) {
        self.mayLeave = mayLeave
        levels = workload.sessions.map(\.conditions.preferenceLevel)
        versions = workload.sessions.map { [Version(state: $0.state, activatedAt: "", from: 0)] }
        let questions = workload.sessions.count.multipliedReportingOverflow(by: workload.contents.count)
        guard !workload.isOneToOne || (!questions.overflow && questions.partialValue <= LoadWorkload.mostQuestions)
        else {
            self.able = workload.contents.indices.map { [$0] }
            self.preferring = workload.contents.map { _ in [] }
            return
        }
        let programs = workload.sessions.map { session in
            (can: Program(session.conditions.canActivate), prefers: Program(session.conditions.prefersToActivate))
        }
        var (able, preferring) = ([[Int]](), [[Int]]())
        for content in workload.contents {
            var subject = Subject(content)
            preferring.append(programs.indices.filter { programs[$0].prefers.evaluate(&subject) })
            able.append(programs.indices.filter { programs[$0].can.evaluate(&subject) })
        }
        (self.able, self.preferring) = (able, preferring)
    }

    /// Notes when a session was last activated before the run.
    package mutating func activated(_ session: Int, at time: String) {
        versions[session][versions[session].count - 1].activatedAt = time
    }

    package func state(of session: Int) -> ActivationState { versions[session][versions[session].count - 1].state }

    /// Notes that a request for another state is sent. One change after another.
    package mutating func change(_ session: Int, to state: ActivationState, at now: UInt64) {
        let before = versions[session][versions[session].count - 1].activatedAt
        versions[session].append(
            Version(state: state, activatedAt: state == .foregroundActive ? Self.later : before, from: now))
    }

    /// Notes the answer to it. Without one both states stay possible.
    package mutating func changed(_ session: Int, activatedAt: String, at now: UInt64) {
        let last = versions[session].count - 1
        versions[session][last].activatedAt = activatedAt
        for place in 0..<last where versions[session][place].until == nil { versions[session][place].until = now }
    }

    /// The sessions that a notification may come to, if its request was under way in this time; empty if no session can show
    /// its content.
    package func expected(_ content: Int, from sent: UInt64, to accepted: UInt64) -> [Int] {
        var expected = best(of: preferring[content], byLevel: true, sent, accepted)
        if preferring[content].allSatisfy(mayLeave) {
            expected += best(of: able[content], byLevel: false, sent, accepted).filter { !expected.contains($0) }
        }
        return expected
    }

    /// The candidates that no other one is better than in all of its possible states.
    private func best(of candidates: [Int], byLevel: Bool, _ sent: UInt64, _ accepted: UInt64) -> [Int] {
        guard candidates.count > 1 else { return candidates }
        var bound: Rank?
        let highest = candidates.map { candidate -> Rank? in
            let ranks = versions[candidate].lazy.filter { $0.from <= accepted && $0.until ?? .max >= sent }.map {
                Rank(
                    level: byLevel ? levels[candidate] : 0, state: $0.state, activatedAt: $0.activatedAt,
                    place: candidate)
            }
            if !mayLeave(candidate), let lowest = ranks.min(), bound.map({ $0 < lowest }) ?? true { bound = lowest }
            return ranks.max()
        }
        return zip(candidates, highest).compactMap { candidate, highest in
            guard let highest else { return nil }
            return bound.map { highest >= $0 } ?? true ? candidate : nil
        }
    }
}
