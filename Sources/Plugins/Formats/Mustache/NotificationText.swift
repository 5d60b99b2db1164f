import RouterPlugin

/// A title and a text for people, as chat systems show them.
///
///     aps.alert is a string             no title; the string
///     aps.alert is an object            its title; its subtitle and body, a line each
///     there is neither                  the message's type; the content id, or else the session, or else the application
///
/// Both are cut to lengths that Slack, Discord and ntfy take: Discord's 2,000 characters are the narrowest.
struct NotificationText: Hashable, Sendable {
    static let titleLength = 200
    static let bodyLength = 1500

    /// One line; may be empty.
    let title: String
    /// Never empty.
    let body: String

    init(of message: DeliveryMessage, payload: JSONValue?) {
        let alert = Self.alert(of: payload)
        let fallback =
            message.notification?.targetContentIdentifier?.text ?? message.session?.id.text ?? message.application.text
        switch (alert.title.isEmpty, alert.body.isEmpty) {
        case (true, true): (title, body) = (Self.line(message.type), Self.cut(fallback, to: Self.bodyLength))
        case (false, true): (title, body) = ("", Self.cut(alert.title, to: Self.bodyLength))
        default: (title, body) = (Self.line(alert.title), Self.cut(alert.body, to: Self.bodyLength))
        }
    }

    private static func alert(of payload: JSONValue?) -> (title: String, body: String) {
        switch payload?["aps"]?["alert"] {
        case .string(let text)?: return ("", text)
        case .object(let alert)?:
            let lines = [alert["subtitle"]?.asString, alert["body"]?.asString].compactMap { $0 }.filter { !$0.isEmpty }
            return (alert["title"]?.asString ?? "", lines.joined(separator: "\n"))
        default: return ("", "")
        }
    }

    private static func line(_ text: String) -> String {
        let scalars = text.unicodeScalars.map { scalar -> Unicode.Scalar in
            scalar.properties.generalCategory == .control ? " " : scalar
        }
        return cut(String(String.UnicodeScalarView(scalars)), to: titleLength)
    }

    /// The first scalars, and an ellipsis if there were more.
    private static func cut(_ text: String, to length: Int) -> String {
        let scalars = text.unicodeScalars
        guard let end = scalars.index(scalars.startIndex, offsetBy: length, limitedBy: scalars.endIndex),
            end != scalars.endIndex
        else { return text }
        return String(scalars[..<end]) + "…"
    }
}
