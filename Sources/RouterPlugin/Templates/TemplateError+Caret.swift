extension TemplateError {
    /// Two lines: the template's text, and `^~~~` under the fault; nil if the fault is not in the text of a template.
    ///
    ///     github://{repository..full_name}
    ///                          ^
    ///
    /// Control characters are drawn as their pictures (`␉` for a tab), so that every character takes one column. A text
    /// that is too long for a terminal is cut to a window around the fault, with `…` for the parts left out.
    public var caret: String? {
        guard let text, let offset else { return nil }
        return TemplateCaret(of: offset..<offset + length, in: text).rendered
    }
}

/// A text as columns, and the columns that are marked.
///
///     columns   { a . . b }
///     marked          [ )
///
/// Invariant: `marked` is never empty and ends at most one column after the last one, because a fault at the end of the
/// text points at the column that is missing.
private struct TemplateCaret {
    /// The window's width. With the two ellipses, a line fits a terminal of 80 columns.
    private static let width = 76

    private var columns: [Character] = []
    private var marked = 0..<1

    init(of range: Range<Int>, in text: String) {
        var offset = 0
        var first: Int?
        var past = 0
        for character in text {
            let next = offset + character.utf8.count
            if first == nil, range.lowerBound < next { first = columns.count }
            if offset < range.upperBound { past = columns.count + 1 }
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

    /// The columns to show: all that fit, else a window with the start of the fault in its first third.
    private var window: Range<Int> {
        guard columns.count > Self.width else { return 0..<columns.count }
        let start = min(max(0, marked.lowerBound - Self.width / 3), columns.count - Self.width)
        return start..<start + Self.width
    }

    /// The character, or a picture of a control character.
    private static func picture(of character: Character) -> Character {
        guard let scalar = character.unicodeScalars.first else { return character }
        return switch scalar.value {
        case 0..<0x20: Unicode.Scalar(0x2400 + scalar.value).map(Character.init) ?? "\u{FFFD}"
        case 0x7F: "\u{2421}"
        case 0x80..<0xA0, 0x2028, 0x2029: "\u{FFFD}"
        default: character
        }
    }
}
