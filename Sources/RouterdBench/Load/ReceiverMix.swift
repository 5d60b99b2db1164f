/// The shares of receivers that do not take every webhook at once.
///
///     sessions  0 ─────────────────────────── n
///               │ slow │ 500 │ … │   good     │      each share is the first sessions that no share before has
package struct ReceiverMix: Hashable, Sendable {
    /// How a receiver behaves.
    package enum Behaviour: Hashable, Sendable {
        /// Answers 204 at once.
        case good
        /// Answers 204 after some time.
        case slow
        /// Does not answer.
        case hangs
        /// Answers this status; 429 asks for a second of patience.
        case status(Int)

        /// Whether webhooks are taken at once.
        package var isHealthy: Bool { self == .good }

        /// The name on the command line.
        package var name: String {
            switch self {
            case .good: "good"
            case .slow: "slow"
            case .hangs: "hang"
            case .status(let status): "\(status)"
            }
        }

        init?(_ name: some StringProtocol) {
            switch name {
            case "slow": self = .slow
            case "hang": self = .hangs
            default:
                guard let status = Int(name), (400...599).contains(status) else { return nil }
                self = .status(status)
            }
        }
    }

    /// The behaviours and their shares in percent.
    package private(set) var shares: [(behaviour: Behaviour, percent: Int)] = []

    /// All receivers are good.
    package init() {}

    /// Reads shares in percent, such as `slow=10,hang=5,500=10,429=5`; nil if they are not written so, or are more than 100.
    package init?(_ text: String) {
        var sum = 0
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let sides = part.split(separator: "=", omittingEmptySubsequences: false)
            guard sides.count == 2, let behaviour = Behaviour(sides[0]), let percent = Int(sides[1]),
                (1...100).contains(percent), !shares.contains(where: { $0.behaviour == behaviour })
            else { return nil }
            sum += percent
            shares.append((behaviour, percent))
        }
        guard sum <= 100 else { return nil }
    }

    /// The behaviour of a session's receiver.
    package func behaviour(of session: Int, among sessions: Int) -> Behaviour {
        var end = 0
        for share in shares {
            end += share.percent
            if session * 100 < end * sessions { return share.behaviour }
        }
        return .good
    }

    package static func == (left: ReceiverMix, right: ReceiverMix) -> Bool { left.text == right.text }
    package func hash(into hasher: inout Hasher) { hasher.combine(text) }

    /// The shares as they are read.
    package var text: String { shares.map { "\($0.behaviour.name)=\($0.percent)" }.joined(separator: ",") }
}
