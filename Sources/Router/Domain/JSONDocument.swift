package import RouterPlugin

/// A JSON value as its text, which takes one byte of memory a byte; a parsed value with many small members takes a
/// dozen.
///
/// Values that every session keeps and that are rarely read are kept like this. Two documents are equal if their bytes
/// are.
package struct JSONDocument: Hashable, Sendable {
    /// Compact JSON in UTF-8.
    package let bytes: [UInt8]

    /// `{}`; all copies share their bytes.
    package static let emptyObject = JSONDocument(bytes: Array("{}".utf8))

    private init(bytes: [UInt8]) { self.bytes = bytes }

    package init(_ value: JSONValue) {
        guard value.asObject?.members.isEmpty != true else {
            self = .emptyObject
            return
        }
        let text = value.serialized()
        // A text that grew has up to as much unused capacity again, which would be kept too.
        var exact: [UInt8] = []
        exact.reserveCapacity(text.count)
        exact.append(contentsOf: text)
        bytes = exact
    }

    /// Reads a stored document, which may be damaged.
    package init(parsing text: [UInt8]) throws(JSONError) {
        self.init(try JSONValue(parsing: text))
    }

    /// The value, parsed again at each call; linear in the size.
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
    /// Appends the text unchanged.
    package func appendJSON(to bytes: inout [UInt8]) { bytes.append(contentsOf: self.bytes) }
}
