/// A person's activity in an application, with the fields that a router needs: UIKit's `NSUserActivity`.
public struct UserActivity: Hashable, Sendable {
    /// In reverse DNS notation, such as `com.example.gallery.openDetail`.
    public let activityType: String
    /// The target content identifier of the activity: `targetContentIdentifier`, or else the text of `webpageURL`; nil
    /// if it has neither.
    public let contentID: ContentID?
    /// The whole object.
    public let value: JSONValue

    /// Reads an object with `activityType`, and `targetContentIdentifier`, `webpageURL`, `title` and `userInfo` if they
    /// are there. Null counts as absent.
    ///
    /// - Throws: `not-an-object`, `missing-field`, `wrong-type`, `unknown-field`, `invalid-content-id`.
    public init(_ value: JSONValue) throws(SourceError) {
        var fields = try SceneFields(value, of: "userActivity")
        activityType = try fields.required("activityType")
        let target = try fields.text("targetContentIdentifier")
        let page = try fields.text("webpageURL")
        _ = try fields.text("title")
        try fields.object("userInfo")
        try fields.finish()
        contentID = try SceneFields.contentID(target ?? page)
        self.value = value
    }

    /// The type of an activity that has been read before; nil if it is none.
    public static func activityType(in payload: [UInt8]) -> String? {
        guard let answer = try? typeLookup.search(payload), case .string(let type, _)? = answer.findings.first else {
            return nil
        }
        return type
    }

    private static let typeLookup = JSONLookup([["activityType"]])
}

/// A URL that a scene is to open: UIKit's `UIOpenURLContext`.
public struct OpenURLContext: Hashable, Sendable {
    /// The URL's text, which is the content id.
    public let contentID: ContentID
    /// The whole object.
    public let value: JSONValue

    /// Reads an object with `url`, and `options` with `sourceApplication` and `openInPlace` if they are there.
    ///
    /// - Throws: `not-an-object`, `missing-field`, `wrong-type`, `unknown-field`, `invalid-content-id`.
    public init(_ value: JSONValue) throws(SourceError) {
        var fields = try SceneFields(value, of: "urlContext")
        let url = try fields.required("url")
        if let options = fields.value("options") {
            var fields = try SceneFields(options, of: "options")
            _ = try fields.text("sourceApplication")
            try fields.bool("openInPlace")
            try fields.finish()
        }
        try fields.finish()
        guard let contentID = try SceneFields.contentID(url) else { throw SceneFields.missing("url") }
        self.contentID = contentID
        self.value = value
    }
}

/// A quick action: UIKit's `UIApplicationShortcutItem`.
public struct ShortcutItem: Hashable, Sendable {
    /// The target content identifier; nil if it has none.
    public let contentID: ContentID?
    /// The whole object.
    public let value: JSONValue

    /// Reads an object with `type`, and `localizedTitle`, `localizedSubtitle`, `targetContentIdentifier` and `userInfo`
    /// if they are there.
    ///
    /// - Throws: `not-an-object`, `missing-field`, `wrong-type`, `unknown-field`, `invalid-content-id`.
    public init(_ value: JSONValue) throws(SourceError) {
        var fields = try SceneFields(value, of: "shortcutItem")
        _ = try fields.required("type")
        _ = try fields.text("localizedTitle")
        _ = try fields.text("localizedSubtitle")
        let target = try fields.text("targetContentIdentifier")
        try fields.object("userInfo")
        try fields.finish()
        contentID = try SceneFields.contentID(target)
        self.value = value
    }
}

/// Reads the members of an object one by one, and then refuses those that were not read.
private struct SceneFields {
    private let object: JSONObject
    private let name: String
    private var known: Set<ByteExactText> = []

    init(_ value: JSONValue, of name: String) throws(SourceError) {
        guard case .object(let object) = value else {
            throw SourceError(code: "not-an-object", message: "\(name) must be a JSON object.")
        }
        self.object = object
        self.name = name
    }

    mutating func value(_ key: String) -> JSONValue? {
        known.insert(ByteExactText(key))
        guard let value = object[key], value != .null else { return nil }
        return value
    }

    mutating func text(_ key: String) throws(SourceError) -> String? {
        guard let value = value(key) else { return nil }
        guard let text = value.asString else { throw wrongType(key, "a string") }
        return text.isEmpty ? nil : text
    }

    mutating func required(_ key: String) throws(SourceError) -> String {
        guard let text = try text(key) else { throw Self.missing(key) }
        return text
    }

    mutating func object(_ key: String) throws(SourceError) {
        guard let value = value(key) else { return }
        guard value.asObject != nil else { throw wrongType(key, "an object") }
    }

    mutating func bool(_ key: String) throws(SourceError) {
        guard let value = value(key) else { return }
        guard value.asBool != nil else { throw wrongType(key, "true or false") }
    }

    func finish() throws(SourceError) {
        guard !object.members.allSatisfy({ known.contains(ByteExactText($0.key)) }) else { return }
        let names = known.map(\.text).sorted().joined(separator: ", ")
        throw SourceError(
            code: "unknown-field", message: "There is a field that \(name) does not have; it has: \(names).")
    }

    static func missing(_ key: String) -> SourceError {
        SourceError(
            code: "missing-field", message: "The field \(key) is missing, or empty.", kind: .unprocessable)
    }

    /// The content id of a text; nil if the text is missing.
    static func contentID(_ text: String?) throws(SourceError) -> ContentID? {
        guard let text else { return nil }
        do { return try ContentID(text) } catch {
            throw SourceError(code: error.code, message: error.description)
        }
    }

    private func wrongType(_ key: String, _ expected: String) -> SourceError {
        SourceError(code: "wrong-type", message: "The field \(key) must be \(expected).")
    }
}
