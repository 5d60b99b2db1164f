/// The canonical form of a predicate, as bytes: the identity of the predicate, and at the same time a program.
///
///     code      constant | leaf | list
///     leaf      head, then what its relation needs:
///                 text relations   length (2), folded bytes
///                 like             length (2), pieces:  one | many | literal, length (2), folded bytes
///                 turned           relation (1), length (2), folded bytes, perhaps their seams: the literal stands on
///                                  the left; bit 7 of the relation says that there are seams, one for each byte
///                 mirrored         relation (1): the subject stands on both sides
///     list      head, number of terms (2), length of the terms (4), terms in the order of their bytes
///     head      bit 7: negated    bits 4…6: form    bits 0…3: kind
///
/// Negation stands on leaves only, lists contain no list of their own kind and no term twice, `false` is a constant
/// that is not negated. Numbers are little-endian. Two predicates with the same bytes hold for the same subjects; the
/// reverse is not promised.
enum CanonicalCode {
    enum Kind: UInt8 {
        case constant, absent, equal, less, lessOrEqual, greater, greaterOrEqual, beginsWith, endsWith, contains, like
        case turned, mirrored, and, or
    }

    /// The parts of a pattern.
    enum Piece: UInt8 {
        case one, many, literal
    }

    static let negated: UInt8 = 0x80
    /// Of the relation of a turned leaf: the literal may not be cut everywhere.
    static let seamed: UInt8 = 0x80
    static let listHeader = 7

    static func head(_ kind: Kind, _ form: Form = .exact) -> UInt8 { kind.rawValue | UInt8(form.rawValue) << 4 }

    @inline(__always) static func kind(_ head: UInt8) -> Kind { Kind(rawValue: head & 0x0F) ?? .constant }

    @inline(__always) static func form(_ head: UInt8) -> Form { Form(rawValue: Int(head >> 4 & 7)) ?? .exact }

    /// The number of two bytes at the place.
    @inline(__always) static func short(_ place: UnsafePointer<UInt8>) -> Int {
        Int(UnsafeRawPointer(place).loadUnaligned(as: UInt16.self).littleEndian)
    }

    /// The number of four bytes at the place.
    @inline(__always) static func long(_ place: UnsafePointer<UInt8>) -> Int {
        Int(UnsafeRawPointer(place).loadUnaligned(as: UInt32.self).littleEndian)
    }

    @inline(__always) static func isList(_ code: UnsafePointer<UInt8>) -> Bool {
        kind(code[0]) == .and || kind(code[0]) == .or
    }

    /// The number of bytes of the code.
    @inline(__always) static func size(_ code: UnsafePointer<UInt8>) -> Int {
        switch kind(code[0]) {
        case .constant, .absent: 1
        case .turned: 4 + short(code + 2) * (code[1] & seamed == 0 ? 1 : 2)
        case .mirrored: 2
        case .and, .or: listHeader + long(code + 3)
        default: 3 + short(code + 1)
        }
    }
}
