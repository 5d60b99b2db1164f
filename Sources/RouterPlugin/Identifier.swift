/// The kind of thing that an identifier names.
public protocol IdentifierKind: Sendable {
    /// The rule for texts of this kind.
    static var rule: IdentifierRule { get }
}

/// The rule that a text must meet to be an identifier.
public struct IdentifierRule: Sendable {
    /// The kind in kebab-case, as error codes spell it: `invalid-<name>`.
    public let name: String
    /// The greatest length in UTF-8 bytes.
    public let maximumLength: Int
    /// Whether a byte of the UTF-8 text may occur.
    public let allows: @Sendable (UInt8) -> Bool
    /// Whether `.` and `..` may be one: not where it stands in a URL's path, which clients shorten (RFC 3986, 5.2.4).
    public let allowsDots: Bool

    /// All parts at once.
    public init(
        name: String, maximumLength: Int, allowsDots: Bool = false, allows: @escaping @Sendable (UInt8) -> Bool
    ) {
        self.name = name
        self.maximumLength = maximumLength
        self.allowsDots = allowsDots
        self.allows = allows
    }
}

/// A name that is compared by its bytes.
///
/// Swift's own string equality is canonical: `"é"` written as one scalar equals `"é"` written as two. Two clients
/// that registered two different byte strings must never be taken for one another, so equality, order and hash look
/// at UTF-8 and at nothing else.
public struct Identifier<Kind: IdentifierKind>: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The text as given.
    public let text: String

    /// Checks the text: not empty, not longer than the kind allows, made of allowed bytes only, no segment of a path
    /// that means another place.
    public init(_ text: String) throws(InvalidIdentifier) {
        let rule = Kind.rule
        guard !text.isEmpty else { throw InvalidIdentifier(kind: rule.name, fault: .empty) }
        guard text.utf8.count <= rule.maximumLength else {
            throw InvalidIdentifier(kind: rule.name, fault: .tooLong(maximum: rule.maximumLength))
        }
        guard text.utf8.allSatisfy(rule.allows) else { throw InvalidIdentifier(kind: rule.name, fault: .forbiddenByte) }
        guard rule.allowsDots || text != "." && text != ".." else {
            throw InvalidIdentifier(kind: rule.name, fault: .dots)
        }
        self.text = text
    }

    /// Takes a text that has been checked before, such as one read back from the store.
    public init(unchecked text: String) {
        self.text = text
    }

    /// The text itself.
    public var description: String { text }

    /// Whether both are the same bytes.
    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.text.isSame(as: rhs.text) }

    /// Order of the UTF-8 bytes.
    public static func < (lhs: Self, rhs: Self) -> Bool {
        lhs.text.utf8.lexicographicallyPrecedes(rhs.text.utf8)
    }

    /// Feeds the bytes, so that equal identifiers hash alike.
    public func hash(into hasher: inout Hasher) {
        text.utf8Span.span.withUnsafeBufferPointer { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(UInt8(0xFF))
    }
}

extension String {
    /// Whether both are the same bytes. Swift's own equality takes two spellings of a character for the same.
    package func isSame(as other: String) -> Bool {
        utf8Span.span.withUnsafeBufferPointer { left in
            other.utf8Span.span.withUnsafeBufferPointer { right in Self.isSame(left, right) }
        }
    }

    private static func isSame(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        // One was copied from the other.
        if left.baseAddress == right.baseAddress { return true }
        let (left, right) = (UnsafeRawBufferPointer(left), UnsafeRawBufferPointer(right))
        func wordIsSame(at offset: Int) -> Bool {
            left.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                == right.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        }
        guard left.count >= 8 else { return left.elementsEqual(right) }
        var offset = 0
        while offset + 8 < left.count {
            guard wordIsSame(at: offset) else { return false }
            offset += 8
        }
        // The last eight bytes, some of which may have been compared before.
        return wordIsSame(at: left.count - 8)
    }
}

/// Why a text cannot be an identifier.
public struct InvalidIdentifier: Error, Hashable, Sendable, CustomStringConvertible {
    /// The rule that the text breaks.
    public enum Fault: Hashable, Sendable {
        /// There are no bytes.
        case empty
        /// There are more bytes than the kind allows.
        case tooLong(maximum: Int)
        /// A byte that the kind does not allow, such as NUL or another control character.
        case forbiddenByte
        /// `.` or `..`, where a kind stands in a URL's path.
        case dots
    }

    /// The kind in kebab-case.
    public let kind: String
    /// The rule that the text breaks.
    public let fault: Fault

    /// Names the kind and the broken rule.
    public init(kind: String, fault: Fault) {
        self.kind = kind
        self.fault = fault
    }

    /// The stable code: `invalid-` and the kind.
    public var code: String { "invalid-\(kind)" }

    /// One sentence for people.
    public var description: String {
        let name = kind.split(separator: "-").joined(separator: " ")
        return switch fault {
        case .empty: "The \(name) is empty."
        case .tooLong(let maximum): "The \(name) is longer than \(maximum) bytes."
        case .forbiddenByte: "The \(name) has a character that is not allowed in it."
        case .dots: "The \(name) is . or .., which means another place in a URL's path."
        }
    }
}

/// Kinds of identifiers.
public enum IdentifierKinds: Sendable {
    /// A tenant: a bundle identifier.
    public enum Application: IdentifierKind {
        /// Letters, digits, `.`, `-` and `_`, as bundle identifiers have them.
        public static let rule = IdentifierRule(name: "application-id", maximumLength: 255, allows: isBundleByte)
    }

    /// A scene session.
    public enum Session: IdentifierKind {
        /// Everything but control characters and `/`.
        public static let rule = IdentifierRule(name: "session-id", maximumLength: 255) {
            isPrintable($0) && $0 != UInt8(ascii: "/")
        }
    }

    /// A device or other installation that holds several sessions.
    public enum Device: IdentifierKind {
        /// Everything but control characters.
        public static let rule = IdentifierRule(name: "device-id", maximumLength: 255, allows: isPrintable)
    }

    /// The name of a content: the subject of every activation predicate.
    public enum Content: IdentifierKind {
        /// Everything but NUL.
        public static let rule = IdentifierRule(name: "content-id", maximumLength: 4096, allowsDots: true) { $0 != 0 }
    }

    /// An accepted notification.
    public enum Notification: IdentifierKind {
        /// Everything but control characters.
        public static let rule = IdentifierRule(name: "notification-id", maximumLength: 64, allows: isPrintable)
    }

    /// A configured source, by which senders reach an application.
    public enum Source: IdentifierKind {
        /// Letters, digits, `.`, `-` and `_`.
        public static let rule = IdentifierRule(name: "source-id", maximumLength: 128, allows: isBundleByte)
    }

    /// A plugin: dotted words such as `routerd.rule.quiet-hours`.
    public enum Plugin: IdentifierKind {
        /// Letters, digits, `.`, `-` and `_`.
        public static let rule = IdentifierRule(name: "plugin-id", maximumLength: 128, allows: isBundleByte)
    }
}

@Sendable private func isPrintable(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F }

@Sendable private func isBundleByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"): true
    case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
    default: false
    }
}

/// Names an application, the tenant.
public typealias ApplicationID = Identifier<IdentifierKinds.Application>
/// Names a scene session within its application.
public typealias SessionID = Identifier<IdentifierKinds.Session>
/// Names a device within its application.
public typealias DeviceID = Identifier<IdentifierKinds.Device>
/// The target content identifier: the name of the content that a notification is about.
public typealias ContentID = Identifier<IdentifierKinds.Content>
/// Names an accepted notification: `ntf_` and a ULID.
public typealias NotificationID = Identifier<IdentifierKinds.Notification>
/// Names a configured source.
public typealias SourceID = Identifier<IdentifierKinds.Source>
/// Names a plugin.
public typealias PluginID = Identifier<IdentifierKinds.Plugin>
