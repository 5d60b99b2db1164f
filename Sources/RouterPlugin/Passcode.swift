/// The secret that a person types to open a locked application.
///
/// No way of printing values shows it: neither interpolation nor `dump` nor a mirror. It is not `Hashable`, so that it
/// cannot become a dictionary's key.
public struct Passcode: Equatable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The greatest length in UTF-8 bytes. A character may have many scalars, so characters would bound nothing.
    public static let maximumBytes = 1024

    private let text: String

    /// Takes a typed text, in Unicode's form C: the same letters are then the same bytes, whatever keyboard they were
    /// typed on.
    ///
    /// - Throws: the reason why it cannot be a passcode, without quoting it.
    public init(_ text: String) throws(InvalidPasscode) {
        guard !text.isEmpty else { throw .empty }
        guard text.utf8.count <= Self.maximumBytes else { throw .tooLong }
        guard text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            throw .controlCharacter
        }
        self.text = text
    }

    /// The text itself, for code that judges it or makes a hash of it.
    public func revealed() -> String { text }

    /// `passcode …`, and none of it.
    public var description: String { "passcode …" }

    /// `passcode …`, and none of it.
    public var debugDescription: String { description }

    /// A mirror without children, since reflection would otherwise show the text.
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Whether both are the same bytes; the time that it takes depends on their lengths alone.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        let (left, right) = (lhs.text.utf8, rhs.text.utf8)
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

/// The reason why a text cannot be a passcode under any policy.
public enum InvalidPasscode: String, Error, CaseIterable, Sendable, CustomStringConvertible {
    /// The text is empty.
    case empty = "passcode-empty"
    /// The text has more than `Passcode.maximumBytes` bytes.
    case tooLong = "passcode-too-long"
    /// The text has a character that no keyboard types, such as NUL or a line's end.
    case controlCharacter = "passcode-control-character"

    /// Stable and in kebab-case.
    public var code: String { rawValue }

    /// One sentence for people; the passcode does not occur in it.
    public var description: String {
        switch self {
        case .empty: "A passcode must not be empty."
        case .tooLong: "A passcode has at most \(Passcode.maximumBytes) bytes of UTF-8."
        case .controlCharacter: "A passcode must not hold control characters."
        }
    }
}
