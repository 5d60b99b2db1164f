import RouterPlugin
import Testing

struct TemplateTableTests {
    private func table(_ json: String) throws -> TemplateTable {
        try TemplateTable(JSONValue(parsing: Array(json.utf8)))
    }

    private func fault(_ value: JSONValue) -> TemplateError? {
        do throws(TemplateError) {
            _ = try TemplateTable(value)
            return nil
        } catch {
            return error
        }
    }

    private func result(_ table: TemplateTable, _ type: String?) -> PayloadTemplate.Outcome? {
        table.evaluate(TemplateScope(payload: ["id": 7], type: type))
    }

    @Test func aStringServesEveryType() throws {
        let table = try table(#""app://{id}""#)
        #expect(result(table, "issues") == .text("app://7"))
        #expect(result(table, nil) == .text("app://7"))
        #expect(try table == TemplateTable("app://{id}"))
        #expect(try table == TemplateTable(PayloadTemplate("app://{id}")))
        #expect(table.json == "app://{id}")
    }

    @Test func aTypeHasItsOwnTemplateOrThatOfTheRest() throws {
        let table = try table(#"{"issues": "i/{id}", "*": "r/{id}", "pull/request": "p/{id}"}"#)
        #expect(result(table, "issues") == .text("i/7"))
        #expect(result(table, "pull/request") == .text("p/7"))
        #expect(result(table, "Issues") == .text("r/7"))
        #expect(result(table, "") == .text("r/7"))
        #expect(result(table, nil) == .text("r/7"))
        #expect(table.json == ["issues": "i/{id}", "pull/request": "p/{id}", "*": "r/{id}"])
        #expect(try TemplateTable(table.json) == table)
    }

    @Test func withoutARestOtherTypesHaveNone() throws {
        let table = try TemplateTable(["issues": "i/{id}"])
        #expect(result(table, "issues") == .text("i/7"))
        #expect(result(table, "push") == nil)
        #expect(result(table, nil) == nil)
        #expect(table.template(for: "issues")?.description == "i/{id}")
        // Precomposed and decomposed names are different types.
        let accents = try TemplateTable(["caf\u{E9}": "a"])
        #expect(accents.template(for: "cafe\u{301}") == nil)
    }

    @Test func faultsPointAtTheirTemplate() {
        let nested = fault(["a/b": "x", "c~d/e": "{a..b}"])
        #expect(nested?.code == .emptyName)
        #expect(nested?.pointer == "/c~0d~1e")
        #expect(nested?.offset == 3)
        #expect(nested?.length == 1)
        #expect(nested?.caret == "{a..b}\n   ^")
        #expect(nested?.within("/contentId").pointer == "/contentId/c~0d~1e")
        let alone = fault("{}")
        #expect(alone?.pointer == "")
        #expect(alone?.offset == 0)
    }

    @Test func faultsOfTheTableHaveNoPlaceInAText() {
        for value: JSONValue in [nil, 1, true, []] {
            #expect(fault(value)?.code == .wrongType)
            #expect(fault(value)?.pointer == "")
        }
        #expect(fault(["a": 1])?.code == .wrongType)
        #expect(fault(["a": 1])?.pointer == "/a")
        #expect(fault(["a": 1])?.caret == nil)
        #expect(fault(["a": 1])?.description == "A template is a string. (wrong-type, /a)")
        #expect(fault([:])?.code == .emptyTable)
        for type in ["", "issues*", "a\u{0}", String(repeating: "x", count: 257)] {
            #expect(fault(.object(object(type)))?.code == .invalidEventType)
        }
        #expect(fault(.object(object(String(repeating: "x", count: 256)))) == nil)
    }

    private func object(_ key: String) -> JSONObject {
        var object = JSONObject()
        object[key] = "x"
        return object
    }

    @Test func aTableHasAtMost256Templates() {
        var object = JSONObject()
        for number in 0..<256 { object["t\(number)"] = "x" }
        #expect(fault(.object(object)) == nil)
        object["one more"] = "x"
        #expect(fault(.object(object))?.code == .tooManyTemplates)
    }
}
