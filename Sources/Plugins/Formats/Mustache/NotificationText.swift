import RouterPlugin

/// A title and a text for people, as chat systems show them.
///
///     aps.alert is a string             no title; the string
///     aps.alert is an object            its title; its subtitle and body, a line each
///     there is neither                  the message's type; the content id, or else the session, or else the application
///
/// A text of blanks counts as none: services refuse it, or show nothing. Both are cut to lengths that Slack, Discord and ntfy
/// take: Discord's 2,000 characters, and ntfy's 4,096 bytes, beyond which it makes a file of the message.
struct NotificationText: Hashable, Sendable {
    static let titleLength = 200
    static let bodyLength = 1500
    static let bodyBytes = 4096

    /// One line; may be empty.
    let title: String
    /// Never empty.
    let body: String

    init(of message: DeliveryMessage, payload: JSONValue?) {
        let alert = Self.alert(of: payload)
        let names = [message.notification?.targetContentIdentifier?.text, message.session?.id.text]
        let fallback = names.lazy.compactMap { $0.flatMap(Self.shown) }.first ?? message.application.text
        switch (alert.title.isEmpty, alert.body.isEmpty) {
        case (true, true): (title, body) = (Self.line(message.type), Self.cut(fallback, to: Self.bodyLength))
        case (false, true): (title, body) = ("", Self.cut(alert.title, to: Self.bodyLength))
        default: (title, body) = (Self.line(alert.title), Self.cut(alert.body, to: Self.bodyLength))
        }
    }

    private static func alert(of payload: JSONValue?) -> (title: String, body: String) {
        switch payload?["aps"]?["alert"] {
        case .string(let text)?: return ("", shown(text) ?? "")
        case .object(let alert)?:
            let (title, lines) = (alert["title"], [alert["subtitle"], alert["body"]])
            let body = lines.compactMap { $0?.asString.flatMap(shown) }.joined(separator: "\n")
            return (title?.asString.flatMap(shown) ?? "", body)
        default: return ("", "")
        }
    }

    /// A text in which something is to be seen; nil for blanks, control and format characters alone.
    private static func shown(_ text: String) -> String? {
        let isShown = text.unicodeScalars.contains { scalar in
            let properties = scalar.properties
            return !properties.isWhitespace && !properties.isDefaultIgnorableCodePoint
                && ![.control, .format].contains(properties.generalCategory)
        }
        return isShown ? text : nil
    }

    private static func line(_ text: String) -> String {
        let scalars = text.unicodeScalars.map { scalar -> Unicode.Scalar in
            scalar.properties.generalCategory == .control ? " " : scalar
        }
        return cut(String(String.UnicodeScalarView(scalars)), to: titleLength)
    }

    /// The first scalars within `bodyBytes`, and an ellipsis if there were more.
    private static func cut(_ text: String, to length: Int) -> String {
        let scalars = text.unicodeScalars
        let isLong = scalars.index(scalars.startIndex, offsetBy: length + 1, limitedBy: scalars.endIndex) != nil
        guard isLong || text.utf8.count > bodyBytes else { return text }
        let ellipsis = "…"
        var (start, bytes) = (String.UnicodeScalarView(), ellipsis.utf8.count)
        for scalar in scalars.prefix(length) {
            bytes += UTF8.width(scalar)
            guard bytes <= bodyBytes else { break }
            start.append(scalar)
        }
        return String(start) + ellipsis
    }
}
