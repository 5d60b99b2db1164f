import Testing

@testable import RouterdCommands

@Suite("Texts of senders in a terminal")
struct PrintableTextTests {
    @Test(
        "Characters that a terminal obeys are escaped",
        arguments: [
            ("a\u{1B}]0;title\u{7}b", #"a\u001b]0;title\u0007b"#), ("line\r\u{8}x", #"line\u000d\u0008x"#),
            ("\u{9B}31m", #"\u009b31m"#), ("\u{202E}gpj.exe\u{2066}", #"\u202egpj.exe\u2066"#),
            ("\u{1B}[31;5mred", #"\u001b[31;5mred"#), ("\u{7F}", #"\u007f"#),
        ])
    func escaped(text: String, shown: String) {
        #expect(Terminal.printable(text) == shown)
    }

    @Test("Other texts pass as they are", arguments: ["é 漢 👩‍👩‍👧\tb\nc", "", "\u{1B}[32mdelivered\u{1B}[0m"])
    func plain(text: String) {
        #expect(Terminal.printable(text) == text)
    }
}
