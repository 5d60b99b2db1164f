import Glibc

/// Colours on a terminal. Output to a file or a pipe has none, nor has a terminal with `NO_COLOR` set or `TERM=dumb`.
enum Terminal {
    /// A colour by its meaning.
    enum Colour: String {
        case good = "32"
        case bad = "31"
        case pending = "33"
        case quiet = "2"
        case strong = "1"
    }

    /// Whether standard output takes colours.
    static let hasColours = isColourTerminal(STDOUT_FILENO)
    /// Whether standard error is a terminal, where progress may be shown in place.
    static let showsProgress = isColourTerminal(STDERR_FILENO)

    /// Whether standard input is a terminal: reading it would wait for keys.
    static let isInput = isatty(STDIN_FILENO) == 1

    /// Whether standard output is a terminal.
    static let isOutput = isatty(STDOUT_FILENO) == 1

    /// The text without characters that a terminal obeys: control characters but for line end and tab, and directions of
    /// writing, are escaped as JSON escapes them. Names and payloads are the words of senders.
    static func printable(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isObeyed) else { return text }
        var (shown, rest) = ("", text.unicodeScalars[...])
        while let scalar = rest.first {
            if let sequence = paints.first(where: { rest.starts(with: $0.unicodeScalars) }) {
                shown += sequence
                rest = rest.dropFirst(sequence.unicodeScalars.count)
                continue
            }
            if isObeyed(scalar) {
                let digits = String(scalar.value, radix: 16)
                shown += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            } else {
                shown.unicodeScalars.append(scalar)
            }
            rest = rest.dropFirst()
        }
        return shown
    }

    private static func isObeyed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A: false
        case ..<0x20, 0x7F...0x9F, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    /// The sequences of `paint`, the only ones that pass.
    private static let paints = ["0", "32", "31", "33", "2", "1"].map { "\u{1B}[\($0)m" }

    private static func isColourTerminal(_ descriptor: Int32) -> Bool {
        isatty(descriptor) == 1 && Environment["NO_COLOR"] == nil && Environment["TERM"] != "dumb"
    }

    /// The text in a colour where standard output takes colours.
    static func paint(_ text: String, _ colour: Colour) -> String {
        hasColours ? "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m" : text
    }

    /// The colour of a state of a notification, a lane or a session; nil for a word without one.
    static func colour(of word: String) -> Colour? {
        switch word {
        case "delivered", "foregroundActive", "closed", "chosen", "completed", "prefers": .good
        case "deadLettered", "expired", "open", "disabled", "undeliverable", "failed": .bad
        case "waiting", "held", "inFlight", "halfOpen", "running": .pending
        case "superseded", "cancelled", "unattached", "-": .quiet
        default: nil
        }
    }

    /// Shows progress in place on standard error, or nothing where it is no terminal. An empty text clears the line.
    static func progress(_ text: String) {
        guard showsProgress else { return }
        Console.error("", terminator: "\r\u{1B}[K\(printable(text))")
    }
}
