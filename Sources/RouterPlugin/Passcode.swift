/// What a person types to open an application that is locked.
///
/// Nothing that prints values shows it: neither interpolation nor `dump` nor a mirror. It is not `Hashable`, so that it
/// becomes nobody's key.
public struct Passcode: Equatable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The greatest length in UTF-8 bytes. A character may have many scalars, so characters would bound nothing.
    public static let maximumBytes = 1024

    private let text: String

    /// Takes a text that somebody has typed, in Unicode's form C: the same letters are then the same bytes, whatever
    /// they were typed on.
    ///
    /// - Throws: why it can be no passcode, without quoting it.
    public init(_ text: String) throws(InvalidPasscode) {
        guard !text.isEmpty else { throw .empty }
        guard text.utf8.count <= Self.maximumBytes else { throw .tooLong }
        guard text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            throw .controlCharacter
        }
        self.text = text
    }

    /// The text itself, for those that judge it or make a hash of it.
    public func revealed() -> String { text }

    /// `passcode …`, and none of it.
    public var description: String { "passcode …" }

    /// `passcode …`, and none of it.
    public var debugDescription: String { description }

    /// A mirror without children, since reflection would otherwise show the text.
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Whether both are the same bytes; how long it takes says nothing about them but their lengths.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        let (left, right) = (lhs.text.utf8, rhs.text.utf8)
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

/// Why a text can be no passcode, whatever a policy says.
public enum InvalidPasscode: String, Error, CaseIterable, Sendable, CustomStringConvertible {
    /// There is nothing.
    case empty = "passcode-empty"
    /// There are more than `Passcode.maximumBytes`.
    case tooLong = "passcode-too-long"
    /// It holds what no keyboard types, such as NUL or a line's end.
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
