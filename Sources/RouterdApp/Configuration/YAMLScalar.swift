import RouterPlugin

/// The value of a scalar by the core schema of YAML 1.2 (YAML 1.2.2, 10.3.2).
///
///     true  True  TRUE          a flag              yes  No  on  OFF  y  n     differs: flags of YAML 1.1
///     null  ~  (nothing)        null                0777  08  1_000  0b11      differs: other numbers, or texts, of 1.1
///     1  -2.5  1e3  +1  .5      a number            22:00                      differs: 1320 of 1.1
///     0x1F                      a number            .inf  .nan                 numbers that JSON does not have
///     2026-01-02  1.2.3  a b    a text
///
/// A number as JSON writes it is that number. A date is a text, since JSON has no dates.
enum YAMLScalar: Equatable {
    case null
    case flag(Bool)
    case number(JSONNumber)
    case text
    /// YAML 1.1 and 1.2 read it differently.
    case differs(Remedy)
    /// A number that JSON does not have.
    case noJSON

    /// The other way to write a value beside the quotes of a text.
    enum Remedy: String {
        case flag = ", or write true or false"
        case number = ", or write the number in decimal digits"
        case none = ""
    }

    init(_ text: String) {
        switch text {
        case "", "~", "null", "Null", "NULL": self = .null
        case "true", "True", "TRUE": self = .flag(true)
        case "false", "False", "FALSE": self = .flag(false)
        case "y", "Y", "n", "N", "yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF":
            self = .differs(.flag)
        case "=", "<<": self = .differs(.none)
        default: self = Self.number(text)
        }
    }

    private static func number(_ text: String) -> YAMLScalar {
        if let number = jsonNumber(text) { return number }
        var rest = Array(text.utf8)[...]
        let sign = rest.first.flatMap { "+-".utf8.contains($0) ? $0 : nil }
        if sign != nil { rest.removeFirst() }
        switch String(decoding: rest.lowercased, as: UTF8.self) {
        case ".inf": return isOneCase(rest.dropFirst()) ? .noJSON : .text
        case ".nan":
            return sign == nil && (isOneCase(rest.dropFirst()) || rest.elementsEqual(".NaN".utf8)) ? .noJSON : .text
        default: break
        }
        if rest.first == UInt8(ascii: "0"), let mark = rest.dropFirst().first, "xob".utf8.contains(mark) {
            return prefixed(mark, rest.dropFirst(2), isSigned: sign != nil)
        }
        if rest.contains(UInt8(ascii: ":")) { return isSexagesimal(rest) ? .differs(.none) : .text }
        return decimal(rest, sign)
    }

    private static func jsonNumber(_ text: String) -> YAMLScalar? {
        guard case .number(let number)? = try? JSONValue(parsing: Array(text.utf8), limits: .configuration) else {
            return nil
        }
        return number.text.isSame(as: text) ? .number(number) : nil
    }

    /// `inf`, `Inf` or `INF`.
    private static func isOneCase(_ word: ArraySlice<UInt8>) -> Bool {
        let capitals = word.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
        return !capitals.dropFirst().contains(true) || !capitals.contains(false)
    }

    /// A number in another base: hexadecimal digits without a sign are the same in both versions.
    private static func prefixed(_ mark: UInt8, _ digits: ArraySlice<UInt8>, isSigned: Bool) -> YAMLScalar {
        let base = mark == UInt8(ascii: "x") ? 16 : mark == UInt8(ascii: "o") ? 8 : 2
        let plain = digits.filter { $0 != UInt8(ascii: "_") }
        guard !digits.isEmpty, plain.allSatisfy({ Character(Unicode.Scalar($0)).hexDigitValue ?? 16 < base }) else {
            return .text
        }
        // Octal numbers have no sign and no underscores, and are texts in YAML 1.1.
        if base == 8 { return isSigned || plain.count < digits.count ? .text : .differs(.number) }
        guard base == 16, !isSigned, plain.count == digits.count else { return .differs(.number) }
        return UInt64(String(decoding: digits, as: UTF8.self), radix: 16).flatMap { jsonNumber(String($0)) } ?? .noJSON
    }

    /// `12:30`, a number to base 60; `00:30` and `07:00` are texts, `0:30.5` is a number.
    private static func isSexagesimal(_ text: ArraySlice<UInt8>) -> Bool {
        let point = text.firstIndex(of: UInt8(ascii: ".")) ?? text.endIndex
        let parts = text[..<point].split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard text[point...].dropFirst().allSatisfy(isDigitOrBreak), let first = parts.first, let leading = first.first,
            isDigit(leading), first.allSatisfy(isDigitOrBreak), point < text.endIndex || leading != UInt8(ascii: "0")
        else { return false }
        return parts.dropFirst().allSatisfy { part in
            part.allSatisfy(isDigit)
                && (part.count == 1 || part.count == 2 && part.first.map { $0 < UInt8(ascii: "6") } == true)
        }
    }

    /// A decimal number that JSON writes differently: with a plus, without digits on one side of the point, or with zeros
    /// at the front.
    private static func decimal(_ text: ArraySlice<UInt8>, _ sign: UInt8?) -> YAMLScalar {
        var rest = text
        let whole = rest.prefix(while: isDigitOrBreak)
        rest = rest.dropFirst(whole.count)
        let point = rest.first == UInt8(ascii: ".")
        let fraction = point ? rest.dropFirst().prefix(while: isDigitOrBreak) : []
        rest = rest.dropFirst((point ? 1 : 0) + fraction.count)
        var exponent: ArraySlice<UInt8> = []
        if let mark = rest.first, "eE".utf8.contains(mark) { (exponent, rest) = (rest, []) }
        let power = exponent.dropFirst().first.map { "+-".utf8.contains($0) } == true ? 2 : 1
        let digits = exponent.dropFirst(power)
        guard rest.isEmpty, exponent.isEmpty || !digits.isEmpty && digits.allSatisfy(isDigit),
            (whole.first ?? fraction.first).map(isDigit) == true
        else { return .text }
        // YAML 1.2 has no underscores, and YAML 1.1 octal numbers by a zero, and no exponent without point and sign.
        let isOld = whole.contains(UInt8(ascii: "_")) || fraction.contains(UInt8(ascii: "_"))
        let isOctal = !point && whole.count > 1 && whole.first == UInt8(ascii: "0")
        guard !isOld, !isOctal, exponent.isEmpty || point && power == 2 else { return .differs(.number) }
        let front = whole.drop { $0 == UInt8(ascii: "0") }
        let written =
            (sign == UInt8(ascii: "-") ? "-" : "") + (front.isEmpty ? "0" : String(decoding: front, as: UTF8.self))
            + (fraction.isEmpty ? "" : "." + String(decoding: fraction, as: UTF8.self))
            + String(decoding: exponent, as: UTF8.self)
        return jsonNumber(written) ?? .noJSON
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    private static func isDigitOrBreak(_ byte: UInt8) -> Bool { isDigit(byte) || byte == UInt8(ascii: "_") }
}

extension ArraySlice<UInt8> {
    fileprivate var lowercased: [UInt8] {
        map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    }
}
