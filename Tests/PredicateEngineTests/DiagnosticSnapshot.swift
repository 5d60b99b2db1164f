import PredicateEngine
import Testing

extension Fixture {
    /// Draws the fault of each text and compares the drawings with the recorded ones.
    static func expectDiagnostics<Made>(
        _ name: String, of texts: [String], _ make: (String) throws(PredicateError) -> Made
    ) throws {
        var drawn = ""
        for text in texts {
            do throws(PredicateError) {
                _ = try make(text)
                Issue.record("accepted: \(text)")
            } catch {
                let code = "\(error.kind.rawValue): \(error.code.rawValue)"
                drawn += "\(error.caret(in: text))\n\(code): \(error.message)\n\n"
            }
        }
        let recorded = try recorded(name, now: drawn)
        // Compared block by block, so that a failure shows the blocks that differ and not two pages.
        let (new, old) = (drawn.split(separator: "\n\n"), recorded.split(separator: "\n\n"))
        #expect(new.count == old.count)
        for (new, old) in zip(new, old) {
            #expect(Array(new.utf8) == Array(old.utf8), "now:\n\(new)\nrecorded:\n\(old)")
        }
    }
}
