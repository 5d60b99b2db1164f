/// A run of bytes in a predicate's text: what an error or a warning points at.
public struct SourceSpan: Hashable, Sendable {
    /// The first byte, counted in UTF-8 bytes from the start of the text.
    public var offset: Int

    /// How many UTF-8 bytes; zero where something is missing, such as at the end of the text.
    public var length: Int

    /// Makes a span of `length` UTF-8 bytes that begins at byte `offset`.
    public init(offset: Int, length: Int) {
        self.offset = offset
        self.length = length
    }

    /// The first byte after the span.
    var end: Int { offset + length }

    /// The smallest span that covers this one and a later one.
    func joined(with later: SourceSpan) -> SourceSpan {
        SourceSpan(offset: offset, length: later.end - offset)
    }
}
