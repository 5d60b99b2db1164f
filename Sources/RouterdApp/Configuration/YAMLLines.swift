/// The lines of a text as YAML counts them.
package struct YAMLLines {
    private let scalars: String.UnicodeScalarView
    /// The places at which lines begin.
    private let starts: [String.Index]

    package init(_ text: String) {
        scalars = text.unicodeScalars
        var starts = [text.startIndex]
        var isAfterReturn = false
        for (place, scalar) in zip(scalars.indices, scalars) {
            let next = scalars.index(after: place)
            switch scalar {
            case "\n" where isAfterReturn: starts[starts.count - 1] = next
            case "\n", "\r", "\u{85}", "\u{2028}", "\u{2029}": starts.append(next)
            default: break
            }
            isAfterReturn = scalar == "\r"
        }
        self.starts = starts
    }

    /// The number of lines. After a break there is another line, even if it is empty.
    package var count: Int { starts.count }

    /// The text from the start of a line, counted from 1, to the end of the line with its break; empty if there is no such line.
    func scalars(of line: Int) -> Substring.UnicodeScalarView {
        guard starts.indices.contains(line - 1) else { return scalars[scalars.endIndex...] }
        return scalars[starts[line - 1]..<(line < starts.count ? starts[line] : scalars.endIndex)]
    }
}

extension String {
    /// The text without a byte order mark at its start.
    package var withoutByteOrderMark: String {
        unicodeScalars.first == "\u{FEFF}" ? String(unicodeScalars.dropFirst()) : self
    }
}
