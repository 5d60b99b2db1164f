import RouterPlugin
import Testing

@testable import RouterdApp

@Suite("Pages of lists") struct PageTests {
    private static let names = (0..<10).map { "name-\($0)" }

    /// An entry of some hundred bytes.
    private static func entry(_ name: String) -> [UInt8] {
        JSONWriter.object {
            $0.field("name", name)
            $0.field("text", String(repeating: "x", count: 300))
        }
    }

    private static func page(after: String? = nil, limit: Int = 100, bytes: Int) throws -> JSONValue {
        var page = Page(of: names, after: after, limit: limit) { $0 }
        page.write(atMost: bytes, entry)
        return try JSONValue(parsing: page.body("names"))
    }

    @Test("Pages that bytes have ended go on at their cursors", arguments: [1, 500, 1000, 3000, 10_000])
    func bytes(_ bytes: Int) throws {
        var (found, after, pages): ([String], String?, Int) = ([], nil, 0)
        repeat {
            let page = try Self.page(after: after, bytes: bytes)
            let names = page["names"]?.asArray?.compactMap { $0["name"]?.asString } ?? []
            #expect(names.count == 1 || names.count * 300 < bytes, "A page has bytes within its bound, or one entry.")
            found += names
            after = try Cursor.read(page["cursor"]?.asString)
            pages += 1
        } while after != nil
        #expect(found == Self.names)
        #expect((pages == 1) == (bytes == 10_000))
    }

    @Test("A page that is written in two parts is the page that is written in one")
    func parts() throws {
        var page = Page(of: Self.names, after: "name-2", limit: 6) { $0 }
        let isShort = page.write(atMost: 1000, Self.entry)
        let isWhole = page.write(atMost: 100_000, Self.entry)
        #expect(!isShort && isWhole)
        #expect(try JSONValue(parsing: page.body("names")) == Self.page(after: "name-2", limit: 6, bytes: 100_000))
    }

    @Test("A page without a shown entry leads to the next one")
    func leavesOut() throws {
        var page = Page(of: Self.names, after: nil, limit: 4) { $0 }
        page.write(atMost: 1000) { _ in nil }
        let body = try JSONValue(parsing: page.body("names"))
        #expect(body["names"]?.asArray?.isEmpty == true)
        #expect(try Cursor.read(body["cursor"]?.asString) == "name-3")
        let none = Page(of: [String](), after: nil, limit: 4) { $0 }
        #expect(try JSONValue(parsing: none.body("names"))["cursor"]?.asString == nil)
    }
}
