import GRDB
import Router
import Testing

@testable import StoreSQLite

/// Lists within a column.
struct TextListTests {
    static let lists: [[String]] = [
        [], [""], ["a", "b"], ["\"", "\\", "\\\""], ["\u{0}\u{1F}\n"], ["]", ",", "[\"a\"]"],
        ["caf\u{E9}", "cafe\u{301}", "\u{1F469}\u{200D}\u{1F467}"],
    ]

    @Test(arguments: lists)
    func aListComesBackAsItWas(_ list: [String]) throws {
        let decoded = try TextList.decode(TextList.encode(list))
        #expect(decoded.map { Array($0.utf8) } == list.map { Array($0.utf8) })
    }

    @Test(arguments: lists)
    func sqliteReadsItAsJSON(_ list: [String]) throws {
        let texts = try DatabaseQueue().read { db in
            try String.fetchAll(db, sql: "SELECT value FROM json_each(?)", arguments: [TextList.encode(list)])
        }
        // A NUL ends a text for SQLite's functions; the store does not ask them.
        #expect(texts.count == list.count)
        if !list.contains(where: { $0.utf8.contains(0) }) { #expect(texts == list) }
    }

    static let damaged = [
        "", "[", "a", #"["a""#, #"["a",]"#, #"["a""b"]"#, #"["\x"]"#, #"["\u00"]"#, #"["\u1234"]"#, "[1]",
    ]

    @Test(arguments: damaged)
    func foreignTextsAreRefused(_ text: String) {
        #expect(throws: StoreError.self) { try TextList.decode(text) }
    }

    @Test func numbersComeBack() throws {
        for list in [[], [0], [5, 300, -1, .max]] as [[Int]] {
            #expect(try TextList.decodeNumbers(TextList.encode(list)) == list)
        }
        for text in ["", "[1", "[x]", "[1, 2]"] {
            #expect(throws: StoreError.self) { try TextList.decodeNumbers(text) }
        }
    }
}
