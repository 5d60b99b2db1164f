extension JSONValue {
    /// The document for people: a line for each member and element, two spaces for each level. Empty arrays and objects
    /// stay on their line. There is no line end behind the last line.
    public func indented() -> [UInt8] {
        var bytes: [UInt8] = []
        appendIndented(to: &bytes, level: 0)
        return bytes
    }

    private func appendIndented(to bytes: inout [UInt8], level: Int) {
        func newLine(_ level: Int) {
            bytes.append(UInt8(ascii: "\n"))
            bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * level))
        }
        switch self {
        case .array(let elements) where !elements.isEmpty:
            bytes.append(UInt8(ascii: "["))
            for (place, element) in elements.enumerated() {
                if place > 0 { bytes.append(UInt8(ascii: ",")) }
                newLine(level + 1)
                element.appendIndented(to: &bytes, level: level + 1)
            }
            newLine(level)
            bytes.append(UInt8(ascii: "]"))
        case .object(let object) where !object.isEmpty:
            bytes.append(UInt8(ascii: "{"))
            for (place, member) in object.members.enumerated() {
                if place > 0 { bytes.append(UInt8(ascii: ",")) }
                newLine(level + 1)
                member.key.appendJSON(to: &bytes)
                bytes.append(contentsOf: ": ".utf8)
                member.value.appendIndented(to: &bytes, level: level + 1)
            }
            newLine(level)
            bytes.append(UInt8(ascii: "}"))
        default: appendJSON(to: &bytes)
        }
    }
}
