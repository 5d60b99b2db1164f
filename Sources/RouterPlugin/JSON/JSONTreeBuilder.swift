/// Makes a tree of what the scanner reports.
struct JSONTreeBuilder: JSONVisitor {
    /// An open array or object; only one of the two fields is in use.
    private struct Level {
        var elements: [JSONValue] = []
        var object = JSONObject()
        /// The key whose value comes next, in an object.
        var key = ""
    }

    /// The document, once the scanner has returned.
    private(set) var result = JSONValue.null
    private var levels: [Level] = []
    private var isObject: [Bool] = []

    mutating func literal(_ value: JSONValue, at offset: Int) { add(value) }

    mutating func number(_ range: Range<Int>, in bytes: UnsafeBufferPointer<UInt8>) {
        let text = String(decoding: UnsafeBufferPointer(rebasing: bytes[range]), as: UTF8.self)
        add(.number(JSONNumber(checked: text)))
    }

    mutating func string(_ text: JSONText, in bytes: UnsafeBufferPointer<UInt8>) {
        add(.string(text.decoded(in: bytes)))
    }

    mutating func key(_ text: JSONText, in bytes: UnsafeBufferPointer<UInt8>) {
        levels[levels.count - 1].key = text.decoded(in: bytes)
    }

    mutating func begin(_ container: JSONContainer, at offset: Int) {
        levels.append(Level())
        isObject.append(container == .object)
    }

    mutating func end(_ container: JSONContainer, at offset: Int) {
        let level = levels.removeLast()
        isObject.removeLast()
        add(container == .object ? .object(level.object) : .array(level.elements))
    }

    private mutating func add(_ value: JSONValue) {
        let top = levels.count - 1
        switch isObject.last {
        // The scanner has refused objects with equal keys, so the key is new.
        case true?: levels[top].object.append(levels[top].key, value)
        case false?: levels[top].elements.append(value)
        case nil: result = value
        }
    }
}
