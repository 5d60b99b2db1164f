/// The value of a header `tracestate`: a list of members `key=value`, of systems that take part in the trace.
///
///     list    = member 0*31( OWS "," OWS member )
///     member  = key "=" value, or nothing
///     key     = ( a-z / 0-9 ) 0*255( a-z / 0-9 / "_" / "-" / "*" / "/" / "@" )
///     value   = 0*255( %x20-2B / %x2D-3C / %x3E-7E ) followed by one that is no blank
///
/// A list of more than 512 characters loses members: first those of more than 128 characters, then the last ones (3.3.1.5).
struct TraceState {
    let text: String

    private static let members = 32
    private static let keyLength = 256
    private static let valueLength = 256
    private static let listLength = 512
    private static let longMember = 128

    /// Nil if the list is malformed or empty.
    ///
    /// - Parameter fields: The values of the header's fields, which are one list.
    init?(_ fields: [String]) {
        let list = fields.joined(separator: ",")
        let members = list.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: true)
            .map { Self.trimmed($0) }
            .filter { !$0.isEmpty }
        guard !members.isEmpty, members.count <= Self.members, members.allSatisfy(Self.isMember) else { return nil }
        let whole = Self.trimmed(Substring(list).utf8)
        guard whole.count > Self.listLength else {
            text = String(decoding: whole, as: UTF8.self)
            return
        }
        var kept = members
        while Self.length(kept) > Self.listLength {
            kept.remove(at: kept.lastIndex { $0.count > Self.longMember } ?? kept.count - 1)
        }
        guard !kept.isEmpty else { return nil }
        text = kept.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ",")
    }

    private static func length(_ members: [Substring.UTF8View]) -> Int {
        members.reduce(members.count - 1) { $0 + $1.count }
    }

    /// The text without blanks and tabs around it.
    private static func trimmed(_ text: Substring.UTF8View) -> Substring.UTF8View {
        let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        let head = text.drop(while: isBlank)
        return head.prefix(head.count - head.reversed().prefix(while: isBlank).count)
    }

    private static func isMember(_ member: Substring.UTF8View) -> Bool {
        guard let equals = member.firstIndex(of: UInt8(ascii: "=")) else { return false }
        let (key, value) = (member[..<equals], member[member.index(after: equals)...])
        guard let first = key.first, isLetterOrDigit(first), key.count <= keyLength else { return false }
        guard !value.isEmpty, value.count <= valueLength else { return false }
        return key.allSatisfy { isLetterOrDigit($0) || "_-*/@".utf8.contains($0) }
            && value.allSatisfy { (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "=") }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
