import RouterPlugin

/// The places in the URL of a scene configuration that each of its sessions fills with its own names:
/// `https://relay.example/{device}/{session}`.
package struct URLPlaceholders: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The id of the session.
    package static let session = URLPlaceholders(rawValue: 1)
    /// The device of the session, or `-` if it has none.
    package static let device = URLPlaceholders(rawValue: 2)

    private static let names: [(placeholder: URLPlaceholders, text: String)] = [
        (.session, "{session}"), (.device, "{device}"),
    ]

    /// The placeholders in a text. Most URLs have no brace.
    package init(in text: String) {
        self = []
        guard text.utf8.contains(UInt8(ascii: "{")) else { return }
        for name in Self.names where text.contains(name.text) { insert(name.placeholder) }
    }

    /// The URL of a session. Bytes that have a meaning in URLs are percent-encoded.
    func filled(_ url: String, for session: SceneSession) -> String {
        filled(url, session: session.key.session.text, device: session.device?.text ?? "-")
    }

    /// The URL with these names.
    package func filled(_ url: String, session: String, device: String) -> String {
        var url = url
        if contains(.session) { url = url.replacing("{session}", with: Self.encoded(session)) }
        if contains(.device) { url = url.replacing("{device}", with: Self.encoded(device)) }
        return url
    }

    private static func encoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        TemplateEncoding.segment.append(text, to: &bytes, limit: .max)
        return String(decoding: bytes, as: UTF8.self)
    }
}
