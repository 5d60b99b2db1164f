package import RouterPlugin

/// A JSON value as its text: it takes a byte a byte, where a parsed one takes a dozen if it has many small members.
///
/// What is kept for every session and hardly ever looked into is kept like this. Two are the same if their bytes are.
package struct JSONDocument: Hashable, Sendable {
    /// Compact JSON in UTF-8.
    package let bytes: [UInt8]

    /// `{}`; all of them share their bytes.
    package static let emptyObject = JSONDocument(bytes: Array("{}".utf8))

    private init(bytes: [UInt8]) { self.bytes = bytes }

    package init(_ value: JSONValue) {
        guard value.asObject?.members.isEmpty != true else {
            self = .emptyObject
            return
        }
        let text = value.serialized()
        // Text that grew has up to as much room again, which would be kept too.
        var exact: [UInt8] = []
        exact.reserveCapacity(text.count)
        exact.append(contentsOf: text)
        bytes = exact
    }

    /// Reads a document, for it may be damaged where it was kept.
    package init(parsing text: [UInt8]) throws(JSONError) {
        self.init(try JSONValue(parsing: text))
    }

    /// The value, parsed anew; linear in the size.
    package var value: JSONValue {
        let limits = JSONLimits(
            maximumBytes: bytes.count, maximumDepth: JSONLimits.deepest, maximumNumberLength: bytes.count)
        guard let value = try? JSONValue(parsing: bytes, limits: limits) else {
            preconditionFailure("A document cannot be read that a value has written.")
        }
        return value
    }
}

extension JSONDocument: JSONWritable {
    /// The text as it is.
    package func appendJSON(to bytes: inout [UInt8]) { bytes.append(contentsOf: self.bytes) }
}
