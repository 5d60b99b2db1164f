/// The action on an answer.
package enum StatusAction: String, CaseIterable, Hashable, Sendable {
    /// The message has arrived.
    case deliver
    /// A failure: the next step of the schedule.
    case retry
    /// A failure that lies in the message: tried three times in all, then given up.
    case retryBriefly
    /// A wait that uses up no step; the lane waits as long as the receiver asks.
    case wait
    /// The session is disabled, and its waiting notifications go to the next best one.
    case moveOn
    /// Given up at once.
    case deadLetter
}

/// The statuses that an application handles otherwise than `ResponseClass`.
///
/// A rule for one status takes precedence over a rule for its hundred. 2xx has no rules: an accepted message is not
/// sent again. 3xx is never a success.
package struct StatusTable: Hashable, Sendable {
    /// One status, or a hundred of them.
    package enum Pattern: Hashable, Comparable, Sendable, CustomStringConvertible {
        case status(Int)
        /// 3, 4 or 5.
        case hundred(Int)

        /// Reads `404` or `4xx`.
        package init?(_ text: String) {
            let bytes = Array(text.utf8)
            guard bytes.count == 3, (UInt8(ascii: "3")...UInt8(ascii: "5")).contains(bytes[0]) else { return nil }
            if text.hasSuffix("xx") {
                self = .hundred(Int(bytes[0] - UInt8(ascii: "0")))
            } else {
                guard let status = Int(text), (300...599).contains(status) else { return nil }
                self = .status(status)
            }
        }

        package var description: String {
            switch self {
            case .status(let status): String(status)
            case .hundred(let hundred): "\(hundred)xx"
            }
        }
    }

    /// The reason why a rule is invalid.
    package enum InvalidRule: Error, Hashable, Sendable {
        /// Neither a status from 300 to 599 nor `3xx`, `4xx` or `5xx`.
        case unknownStatus(String)
        case unknownAction(String)
        /// A redirect is not a delivery.
        case redirectAsSuccess(String)
    }

    private var rules: [Pattern: StatusAction] = [:]

    /// The table without rules: `ResponseClass` decides every status.
    package init() {}

    /// Adds a rule in the API's notation, such as `404` and `retry`.
    package mutating func add(_ pattern: String, _ action: String) throws(InvalidRule) {
        guard let read = Pattern(pattern) else { throw .unknownStatus(pattern) }
        guard let action = StatusAction(rawValue: action) else { throw .unknownAction(action) }
        let isRedirect =
            switch read {
            case .status(let status): status < 400
            case .hundred(let hundred): hundred == 3
            }
        guard action != .deliver || !isRedirect else { throw .redirectAsSuccess(pattern) }
        rules[read] = action
    }

    /// The application's own action on a status; nil leaves it to `ResponseClass`.
    package func rule(for status: Int) -> StatusAction? {
        rules[.status(status)] ?? rules[.hundred(status / 100)]
    }

    /// All rules in the API's notation, single statuses first.
    package var words: [(pattern: String, action: String)] {
        rules.sorted { $0.key < $1.key }.map { ($0.key.description, $0.value.rawValue) }
    }
}

extension StatusTable: CustomStringConvertible {
    package var description: String { words.map { "\($0.pattern): \($0.action)" }.joined(separator: ", ") }
}
