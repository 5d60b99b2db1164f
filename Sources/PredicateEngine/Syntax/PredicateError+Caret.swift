extension PredicateError {
    /// Draws the place of the error: the line concerned, and `^~~~` under the span.
    ///
    ///     SELF BEGINWITH 'msg/'
    ///          ^~~~~~~~~
    ///
    /// Control characters are drawn as their pictures (`␉` for a tab), so that every character takes one column and the
    /// marker stands where the eye expects it. A line that is too long for a terminal is cut to a window around the
    /// span, with `…` for the parts left out.
    ///
    /// - Parameter text: The text that the predicate was made from. Another text gives a wrong place, no trap.
    /// - Returns: Two lines, without a line break at the end.
    public func caret(in text: String) -> String {
        CaretDrawing(of: span, in: Array(text.utf8)).rendered
    }
}

extension PredicateWarning {
    /// Draws the place of the warning, as ``PredicateError/caret(in:)`` draws that of an error.
    public func caret(in text: String) -> String {
        CaretDrawing(of: span, in: Array(text.utf8)).rendered
    }
}

/// One line of text as columns, and the columns that are marked.
///
///     columns   S E L F ␉ = = = ␠ ' a '
///     marked                [ )
///
/// Invariant: `marked` is never empty and ends at most one column after the last one, because an error
/// at the end of the text points at the column that is missing.
private struct CaretDrawing {
    /// The window's width. With the two ellipses, a line fits a terminal of 80 columns.
    private static let width = 76

    private var columns: [Character] = []
    private var marked = 0..<1

    init(of span: SourceSpan, in bytes: [UInt8]) {
        let start = min(max(span.offset, 0), bytes.count)
        let end = min(max(start, span.end), bytes.count)
        let newline = UInt8(ascii: "\n")
        let lineStart = bytes[..<start].lastIndex(of: newline).map { $0 + 1 } ?? 0
        let lineEnd = bytes[start...].firstIndex(of: newline) ?? bytes.count
        var offset = lineStart
        var first: Int?
        var past = 0
        for character in String(decoding: bytes[lineStart..<lineEnd], as: UTF8.self) {
            let next = offset + character.utf8.count
            if first == nil, start < next { first = columns.count }
            if offset < end { past = columns.count + 1 }
            columns.append(Self.picture(of: character))
            offset = next
        }
        let from = first ?? columns.count
        marked = from..<max(past, from + 1)
    }

    var rendered: String {
        let window = self.window
        let before = window.lowerBound > 0 ? "…" : ""
        let after = window.upperBound < columns.count ? "…" : ""
        let shown = marked.clamped(to: window.lowerBound..<max(window.upperBound, marked.lowerBound + 1))
        let indent = String(repeating: " ", count: before.count + shown.lowerBound - window.lowerBound)
        let marker = "^" + String(repeating: "~", count: shown.count - 1)
        return before + String(columns[window]) + after + "\n" + indent + marker
    }

    /// The columns to show: all that fit, else a window with the start of the span in its first third.
    private var window: Range<Int> {
        guard columns.count > Self.width else { return 0..<columns.count }
        let start = min(max(0, marked.lowerBound - Self.width / 3), columns.count - Self.width)
        return start..<start + Self.width
    }

    /// The character, or a picture of it when it would not take one column by itself.
    private static func picture(of character: Character) -> Character {
        guard let scalar = character.unicodeScalars.first, !Printer.isPlain(scalar) else { return character }
        let picture: UInt32 =
            switch scalar.value {
            case 0..<0x20: 0x2400 + scalar.value
            case 0x7F: 0x2421
            default: 0xFFFD
            }
        return Unicode.Scalar(picture).map(Character.init) ?? "\u{FFFD}"
    }
}
