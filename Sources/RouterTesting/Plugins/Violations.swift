import RouterPlugin

/// Collects the findings of a suite: each sentence once, up to a readable number.
struct Violations {
    private static let maximum = 50

    private(set) var list: [String] = []

    mutating func add(_ violation: String) {
        guard list.count < Self.maximum, !list.contains(violation) else { return }
        list.append(violation)
    }

    mutating func require(_ condition: Bool, _ violation: @autoclosure () -> String) {
        if !condition { add(violation()) }
    }

    /// A plugin's name is well-formed, has at least two dotted words and does not change.
    mutating func requireWellFormed(_ id: PluginID, again: PluginID) {
        require(id == again, "id: differs from one call to the next")
        require((try? PluginID(id.text)) != nil, "id: is not a well-formed plugin id")
        let words = id.text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        require(words.count > 1 && words.allSatisfy { !$0.isEmpty }, "id: needs dotted words such as com.example.rule")
    }
}

/// Whether a text is one line that a log or a list can show.
func isOneLine(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { !($0.value < 0x20 || (0x7F...0x9F).contains($0.value)) }
}

/// Whether a text is made of lower-case words and digits with single hyphens between them.
func isKebabCase(_ text: String) -> Bool {
    let words = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    return words.allSatisfy { word in
        !word.isEmpty
            && word.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) }
    }
}
