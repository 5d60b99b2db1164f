/// A secret that a sender signs with or presents. It is never printed.
public struct SourceSecret: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The text as the operator gave it, such as `whsec_…`, a signing secret, or `user:password`.
    public let text: String

    /// Wraps a text.
    public init(_ text: String) { self.text = text }

    /// Never the text.
    public var description: String { "SourceSecret(hidden)" }
    /// Never the text.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
