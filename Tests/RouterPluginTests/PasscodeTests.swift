import Testing

@testable import RouterPlugin

struct PasscodeTests {
    private struct Holder { let passcode: Passcode }

    @Test func nothingThatPrintsShowsIt() throws {
        let passcode = try Passcode("correct horse")
        var dumped = ""
        dump(Holder(passcode: passcode), to: &dumped)
        let printed = [
            "\(passcode)", String(reflecting: passcode), "\(Holder(passcode: passcode))", "\([passcode])", dumped,
        ]
        for text in printed { #expect(!text.contains("horse")) }
        #expect(passcode.revealed() == "correct horse")
    }

    @Test(arguments: [
        ("", InvalidPasscode.empty), (String(repeating: "é", count: 513), .tooLong), ("abc\n", .controlCharacter),
        ("a\u{0}b", .controlCharacter), ("a\u{85}b", .controlCharacter),
    ])
    func anUntypeablePasscodeIsNone(text: String, fault: InvalidPasscode) {
        #expect(throws: fault) { try Passcode(text) }
        #expect(fault.description.hasSuffix("."))
    }

    @Test func aTypedPasscodeIsOne() throws {
        for text in ["0", " ", "日本語", "👩‍👩‍👧‍👦", String(repeating: "é", count: 512)] { _ = try Passcode(text) }
    }

    @Test func equalityIsOfBytes() throws {
        #expect(try Passcode("abc") == Passcode("abc"))
        #expect(try Passcode("abc") != Passcode("abd"))
        #expect(try Passcode("abc") != Passcode("ab"))
        #expect(try Passcode("\u{E9}") != Passcode("e\u{301}"))
    }
}
