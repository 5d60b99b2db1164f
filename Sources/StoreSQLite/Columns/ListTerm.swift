import RouterPlugin

/// A term of the list index: what all notifications of an entry have in common.
///
///     a ⋅ application          c ⋅ content id ⋅ 0x1F ⋅ application        likewise s session, k kind, e event
///
/// Every term names the application, so a list of one tenant reads no entry of another: how long it takes tells nothing of
/// the others. The application stands last, where no separator can be: the entries of one value, of all applications, are a
/// range.
enum ListTerm: Hashable {
    /// Entries with this text.
    case exact(String)
    /// Entries whose texts begin so.
    case prefix(String)

    private static let separator = "\u{1F}"
    private static let afterSeparator = "\u{20}"

    /// The notifications of an application.
    static func application(_ application: ApplicationID) -> ListTerm { .exact("a" + application.text) }

    /// - Parameter application: Nil for all applications.
    init(_ letter: String, _ value: String, of application: ApplicationID?) {
        let start = letter + value + Self.separator
        self = application.map { .exact(start + $0.text) } ?? .prefix(start)
    }

    /// The least text behind all that begin with a prefix that ends with the separator.
    static func end(ofPrefix prefix: String) -> String { prefix.dropLast() + afterSeparator }

    /// The term of a row of the table of notifications.
    static func sql(_ letter: String, _ column: String?) -> String {
        column.map { "'\(letter)' || \($0) || char(31) || application" } ?? "'\(letter)' || application"
    }
}
