import Testing

@testable import RouterPlugin

/// The refusals of templates, to the letter: `Fixtures/templates/diagnostics.txt`.
struct TemplateDiagnosticTests {
    static let refused: [String] = [
        // Text.
        "", "a\nb{c}", "a\u{7F}", "a\u{85}b", "a}b", "{{x}", "{x}}", "a%{x}", "a%2{x}", "{a|'%2'}{x}",
        // Holes.
        "{", "a{b", "{a|", "{a:", "{a:segment", "{}", "{+}", "{a|}", "{|a}", "{a||b}", "{:segment}", "{a|'x", "{['x y'",
        "{a|''}", "{a|'x'|b}", "{'a'|'b'}", "{ a}", "{a }", "{a|b c}", "{a{b}}", "{a'b'}", "{größe}", "{a.größe}",
        "{\u{2018}a\u{2019}}",
        // Paths.
        "{.a}", "{a.}", "{a..b}", "{a.[0]}", "{a[]}", "{a[-1]}", "{a[01]}", "{a[x]}", "{a[last]}", "{a[65536]}",
        "{a[0}",
        "{a[0", "{a['x'}", "{a[0]b}",
        // Names beside the payload.
        "{header}", "{query}", "{attribute}", "{header[0]}", "{header.a.b}", "{query.a[0]}", "{type.x}", "{type[0]}",
        "{header.Authorization}", "{header['cookie']}", "{header.X-Gitlab-Token}", "{query.access_token}",
        // Encodings.
        "{a:path}", "{a:}", "{a:segment|b}", "{+a:segment}", "{a:Segment}", "{++a}",
        // Limits and windows.
        String(repeating: "a", count: 4097), String(repeating: "{a}", count: 65),
        "{a" + String(repeating: "|a", count: 16) + "}", "{a" + String(repeating: ".a", count: 32) + "}",
        String(repeating: "x", count: 200) + "{a..b}" + String(repeating: "y", count: 200), "日本/{a..b}",
    ]

    @Test func everyDiagnosticIsAsRecorded() throws {
        var drawn = ""
        for text in Self.refused {
            let error = #expect(throws: TemplateError.self, "\(text)") { try PayloadTemplate(text) }
            guard let error else { continue }
            drawn += "\(error.caret ?? "no place")\n\(error.code.rawValue): \(error.message)\n\n"
        }
        #expect(Self.refused.count >= 20)
        let recorded = try Fixtures.recorded("templates/diagnostics.txt", now: drawn)
        // Compared block by block, so that a failure shows the block at fault.
        let (new, old) = (drawn.split(separator: "\n\n"), recorded.split(separator: "\n\n"))
        #expect(new.count == old.count)
        for (new, old) in zip(new, old) {
            #expect(Array(new.utf8) == Array(old.utf8), "now:\n\(new)\nrecorded:\n\(old)")
        }
    }

    /// The diagnostics above and the tests of tables meet every code.
    @Test func everyCodeHasADiagnostic() {
        let met =
            Self.refused.compactMap { text in
                do throws(TemplateError) {
                    _ = try PayloadTemplate(text)
                    return nil
                } catch {
                    return error.code
                }
            } as [TemplateError.Code]
        let ofTables: Set<TemplateError.Code> = [.wrongType, .emptyTable, .tooManyTemplates, .invalidEventType]
        #expect(Set(TemplateError.Code.allCases).subtracting(ofTables) == Set(met))
    }

    /// The marker stands within two lines of a terminal's width, whatever the text and the place.
    @Test(arguments: 1...50 as ClosedRange<UInt64>)
    func theCaretIsTotal(seed: UInt64) {
        var noise = Noise(state: seed)
        let texts = ["", "a", "é\ne\u{301}x", "\r\n", "👨‍👩‍👧‍👦", String(repeating: "x", count: 300), "\u{301}"]
        for text in texts {
            let start = Int.random(in: 0...320, using: &noise)
            let error = TemplateError(
                .emptyName, "", at: start..<start + Int.random(in: 0...320, using: &noise), of: text)
            let lines = (error.caret ?? "").split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count == 2, "seed \(seed)")
            #expect(lines.allSatisfy { $0.count <= 80 }, "seed \(seed)")
            #expect(lines.last?.contains("^") == true, "seed \(seed)")
        }
    }

    @Test func anErrorOnOneLineHasCodeAndPlace() {
        let error = #expect(throws: TemplateError.self) { try PayloadTemplate("{a..b}") }
        #expect(error?.description == "Here a name is missing. (empty-name, byte 3)")
        #expect(error?.within("/contentId").description == "Here a name is missing. (empty-name, /contentId, byte 3)")
    }
}
