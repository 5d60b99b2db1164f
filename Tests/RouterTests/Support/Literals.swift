import PredicateEngine
package import Router
public import RouterPlugin

/// Ids as literals keep tables readable; an invalid one is a fault of the test.
extension Identifier: ExpressibleByStringLiteral {
    public init(stringLiteral text: String) { self.init(unchecked: text) }
}

extension Identifier: ExpressibleByUnicodeScalarLiteral {
    public init(unicodeScalarLiteral text: String) { self.init(unchecked: text) }
}

extension Identifier: ExpressibleByExtendedGraphemeClusterLiteral {
    public init(extendedGraphemeClusterLiteral text: String) { self.init(unchecked: text) }
}

extension NotificationSequence: ExpressibleByIntegerLiteral {
    package init(integerLiteral value: Int64) { self.init(value) }
}

extension Timestamp {
    /// This many seconds after the beginning of the test's time.
    static func second(_ seconds: Int64) -> Timestamp { epoch.advanced(byMilliseconds: seconds * 1000) }
    /// This many milliseconds after the beginning of the test's time.
    static func millisecond(_ milliseconds: Int64) -> Timestamp { epoch.advanced(byMilliseconds: milliseconds) }
    /// 2026-01-01, an ordinary day.
    static let epoch = Timestamp(milliseconds: 1_767_225_600_000)
}

extension Predicate {
    /// A predicate that is known to be valid.
    static func format(_ text: String) -> Predicate {
        do { return try Predicate(format: text) } catch { preconditionFailure("\(text): \(error)") }
    }
}

extension PluginID {
    static let push: PluginID = "routerd.source.push"
}
