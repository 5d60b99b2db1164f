/// A text that equals another only if both are the same UTF-8 bytes.
///
/// Swift's own equality is canonical, so a dictionary over `String` would take two different keys of a document for
/// one.
struct ByteExactText: Hashable, Sendable {
    let text: String

    init(_ text: String) {
        self.text = text
    }

    static func == (lhs: Self, rhs: Self) -> Bool {
        sameBytes(lhs.text, rhs.text)
    }

    func hash(into hasher: inout Hasher) {
        hashBytes(of: text, into: &hasher)
    }
}

/// Whether both texts are the same UTF-8 bytes.
func sameBytes(_ lhs: String, _ rhs: String) -> Bool {
    lhs.utf8.count == rhs.utf8.count && lhs.utf8.elementsEqual(rhs.utf8)
}

/// Feeds the UTF-8 bytes and an end mark that occurs in no UTF-8.
func hashBytes(of text: String, into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    hasher.combine(UInt8(0xFF))
}
