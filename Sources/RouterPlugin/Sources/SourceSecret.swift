/// A secret that a sender signs with or presents. It is never printed.
public struct SourceSecret: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The text as the operator gave it, such as `whsec_…`, a signing secret, or `user:password`.
    public let text: String

    /// Wraps a text.
    public init(_ text: String) { self.text = text }

    /// Whether a text is the secret; takes a time that depends on the text's length alone.
    public func matches(_ given: String) -> Bool {
        let (secret, given) = (Array(text.utf8), Array(given.utf8))
        guard !secret.isEmpty else { return false }
        var difference = secret.count ^ given.count
        for place in given.indices { difference |= Int(given[place] ^ secret[place % secret.count]) }
        return difference == 0
    }

    /// Never the text.
    public var description: String { "SourceSecret(hidden)" }
    /// Never the text.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
