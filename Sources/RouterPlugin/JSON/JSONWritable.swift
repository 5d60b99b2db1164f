/// A value that can be written as JSON.
public protocol JSONWritable {
    /// Appends one JSON document to the bytes.
    func appendJSON(to bytes: inout [UInt8])
}

extension String: JSONWritable {
    /// A string.
    public func appendJSON(to bytes: inout [UInt8]) { JSONWriter.append(string: self, to: &bytes) }
}

extension Bool: JSONWritable {
    /// `true` or `false`
    public func appendJSON(to bytes: inout [UInt8]) { bytes.append(contentsOf: (self ? "true" : "false").utf8) }
}

extension Int: JSONWritable {
    /// A whole number.
    public func appendJSON(to bytes: inout [UInt8]) { bytes.append(contentsOf: String(self).utf8) }
}

extension Int64: JSONWritable {
    /// A whole number.
    public func appendJSON(to bytes: inout [UInt8]) { bytes.append(contentsOf: String(self).utf8) }
}

extension Double: JSONWritable {
    /// The shortest number that reads back as this; null if it is infinite or no number, which JSON cannot write.
    public func appendJSON(to bytes: inout [UInt8]) {
        bytes.append(contentsOf: (isFinite ? description : "null").utf8)
    }
}

extension Optional: JSONWritable where Wrapped: JSONWritable {
    /// The value, or null.
    public func appendJSON(to bytes: inout [UInt8]) {
        switch self {
        case let value?: value.appendJSON(to: &bytes)
        case nil: bytes.append(contentsOf: "null".utf8)
        }
    }
}

extension Identifier: JSONWritable {
    /// The text as a string.
    public func appendJSON(to bytes: inout [UInt8]) { JSONWriter.append(string: text, to: &bytes) }
}

extension Timestamp: JSONWritable {
    /// RFC 3339 as a string.
    public func appendJSON(to bytes: inout [UInt8]) { JSONWriter.append(string: rfc3339, to: &bytes) }
}

extension JSONNumber: JSONWritable {
    /// The number as it was written.
    public func appendJSON(to bytes: inout [UInt8]) { bytes.append(contentsOf: text.utf8) }
}

extension JSONValue: JSONWritable {
    /// Compact JSON, members in their order.
    public func appendJSON(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes.append(contentsOf: "null".utf8)
        case .bool(let value): value.appendJSON(to: &bytes)
        case .number(let value): value.appendJSON(to: &bytes)
        case .string(let value): value.appendJSON(to: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (place, element) in elements.enumerated() {
                if place > 0 { bytes.append(UInt8(ascii: ",")) }
                element.appendJSON(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let object):
            bytes.append(UInt8(ascii: "{"))
            for (place, member) in object.members.enumerated() {
                if place > 0 { bytes.append(UInt8(ascii: ",")) }
                JSONWriter.append(string: member.key, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.appendJSON(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    /// Compact JSON, members in their order: the same value always gives the same bytes.
    public func serialized() -> [UInt8] {
        var bytes: [UInt8] = []
        appendJSON(to: &bytes)
        return bytes
    }
}
