/// An input of the fuzzer, read as a list of choices. Every input is one: where bytes are missing, zeros are read.
struct ByteReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Ends a text. The byte is never part of UTF-8.
    static var separator: UInt8 { 0xFF }

    var isAtEnd: Bool { position >= bytes.count }

    mutating func byte() -> Int {
        guard !isAtEnd else { return 0 }
        defer { position += 1 }
        return Int(bytes[position])
    }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[byte() % elements.count] }

    /// All up to the separator or the end, with repaired UTF-8.
    mutating func text() -> String {
        let run = bytes[position...].prefix { $0 != Self.separator }
        position = min(run.endIndex + 1, bytes.count)
        return String(decoding: run, as: UTF8.self)
    }

    /// A text of few bytes of input, so that two of them are often alike: pieces, perhaps many times. Its first byte
    /// says how many pieces in its lower three bits, and how many times in the next three.
    mutating func literal() -> String {
        let head = byte()
        let run = (0..<head & 7).map { _ in piece() }.joined()
        return String(repeating: run, count: [1, 1, 1, 1, 2, 5, 40, 600][head >> 3 & 7])
    }

    private mutating func piece() -> String {
        let byte = byte()
        guard !(0x20..<0x7F).contains(byte) else { return String(UnicodeScalar(UInt8(byte))) }
        return RandomPredicates.pieces[byte % RandomPredicates.pieces.count]
    }
}
