import Plugins
import RouterPlugin
import Testing

struct CloudEventsAttributeTests {
    private func binary(_ changed: String, _ value: String?) -> SourceRequest {
        let others = CloudEvents.headers.filter { $0.name != changed }
        return request("{}", others + [value.map { (name: changed, value: $0) }].compactMap { $0 })
    }

    private func attribute(_ value: String) throws -> String? {
        try CloudEvents.decode(binary("ce-subject", value))[0].attributes.first { $0.name == "subject" }?.value
    }

    // MARK: Header values

    /// http-protocol-binding.md 3.1.3.2, and cases of its rules.
    @Test(
        arguments: [
            ("Euro%20%E2%82%AC%20%F0%9F%98%80", "Euro \u{20AC} \u{1F600}"), ("plain", "plain"),
            ("%e2%82%ac", "\u{20AC}"), ("%61b", "ab"), ("%2541", "%41"), ("%25", "%"), ("a+b", "a+b"),
            ("\"with space\"", "with space"), ("\"a\\\"b\\\\c\"", "a\"b\\c"), ("\"a%20b\"", "a b"),
            ("a \"b c\" d", "a b c d"),
            ("a\\b", "a\\b"), ("(comment)", "(comment)"), ("caf\u{E9}", "caf\u{E9}"), ("%22", "\""),
            ("%EF%BF%BD", "\u{FFFD}"),
        ])
    func headerValuesAreDecodedOnce(value: String, text: String) throws {
        #expect(try attribute(value)?.utf8.elementsEqual(text.utf8) == true)
    }

    @Test(
        arguments: [
            "%C0%A0", "%FF", "%E2%82", "%ED%A0%80", "%F4%90%80%80", "100%", "%2", "%zz", "%+1", "\"open", "\"a\\\"",
            "%0A",
            "%00", "%7F", "%C2%85", "%EF%B7%90", "%EF%BF%BF", "a\tb",
        ])
    func badHeaderValuesAreRefused(value: String) {
        #expect(CloudEvents.refusal(binary("ce-subject", value))?.code == "invalid-attribute-value", "\(value)")
        #expect(CloudEvents.refusal(binary("ce-id", value))?.code == "invalid-attribute-value", "\(value)")
    }

    @Test func headersOccurOnceAndAsUTF8() {
        let twice = request("{}", CloudEvents.headers + [(name: "ce-id", value: "2")])
        #expect(CloudEvents.refusal(twice)?.code == "duplicate-header")
        #expect(CloudEvents.refusal(binary("ce-subject", "a\u{FFFD}"))?.code == "header-not-utf8")
        let types = request("{}", CloudEvents.headers + [CloudEvents.json, CloudEvents.data])
        #expect(CloudEvents.refusal(types)?.code == "duplicate-header")
    }

    // MARK: Names and values

    @Test(arguments: ["id", "source", "type", "specversion"])
    func requiredAttributesAreThere(name: String) {
        let missing = SourceError(
            code: "missing-attribute", message: "The CloudEvent has no attribute \(name).")
        #expect(CloudEvents.refusal(binary("ce-\(name)", nil)) == missing)
        let members = ["id", "source", "type", "specversion"].filter { $0 != name }
        let values = members.map { #""\#($0)": "\#($0 == "specversion" ? "1.0" : "x")""# }.joined(separator: ",")
        for body in ["{\(values)}", "{\(values), \"\(name)\": null}"] {
            #expect(CloudEvents.refusal(request(body, [CloudEvents.json]))?.code == "missing-attribute")
        }
    }

    @Test(arguments: ["id", "source", "type", "subject", "dataschema"])
    func someAttributesMustNotBeEmpty(name: String) {
        #expect(CloudEvents.refusal(binary("ce-\(name)", ""))?.code == "invalid-attribute-value")
    }

    @Test(arguments: ["0.3", "1.1", "2.0", "1", "1.0 "])
    func otherVersionsAreRefused(version: String) {
        let error = CloudEvents.refusal(binary("ce-specversion", version))
        #expect(error?.code == "unsupported-specversion")
        #expect(error?.kind == .unprocessable)
    }

    @Test(arguments: ["traceParent", "trace-parent", "trace_parent", "größe", "", "a.b", "data"])
    func namesAreLowerCaseLettersAndDigits(name: String) {
        if name != "data" {
            let event = CloudEvents.event(#""\#(name)": "x""#)
            #expect(CloudEvents.refusal(event)?.code == "invalid-attribute-name")
        }
        let header = (name: "ce-\(name)", value: "x")
        #expect(CloudEvents.refusal(request("{}", CloudEvents.headers + [header]))?.code == "invalid-attribute-name")
    }

    @Test func theContentTypeOfDataIsNoCEHeader() {
        let header = (name: "ce-datacontenttype", value: "application/json")
        let error = CloudEvents.refusal(request("{}", CloudEvents.headers + [header]))
        #expect(error?.code == "invalid-attribute-name")
        #expect(error?.message.contains("content-type") == true)
    }

    @Test func valuesAreStringsWholeNumbersAndBooleans() throws {
        let event = CloudEvents.event(#""a": true, "b": -2147483648, "c": "", "d": null, "e": false"#)
        let attributes = try CloudEvents.decode(event)[0].attributes.dropFirst(4)
        #expect(
            Array(attributes) == [.init("a", "true"), .init("b", "-2147483648"), .init("c", ""), .init("e", "false")])
        for value in ["1.5", "1e3", "2147483648", "[]", "{}", #""a\nb""#, #""\uFFFE""#] {
            #expect(CloudEvents.refusal(CloudEvents.event("\"a\": \(value)"))?.code == "invalid-attribute-value")
        }
    }

    /// json-format.md, 2.2: these attributes are strings in JSON, so `5` and `"5"` are not one id.
    @Test(arguments: ["id", "source", "type", "specversion", "subject", "datacontenttype", "dataschema", "time"])
    func attributesOfTextAreStrings(name: String) throws {
        for value in ["5", "1.0", "true", "[]", "{}"] {
            let required = ["id", "source", "type", "specversion"].filter { $0 != name }
            let members =
                required.map { #""\#($0)": "\#($0 == "specversion" ? "1.0" : "x")""# } + [#""\#(name)": \#(value)"#]
            let error = CloudEvents.refusal(request("{\(members.joined(separator: ","))}", [CloudEvents.json]))
            #expect(error?.code == "invalid-attribute-value" && error?.message.contains(name) == true, "\(value)")
        }
        let extended = CloudEvents.refusal(CloudEvents.event(#""retries": 1.5"#))
        #expect(extended?.message.contains("retries") == true && extended?.message.contains("quotes") == true)
    }

    @Test(
        arguments: [
            #""data_base64": 1"#, #""data_base64": null"#, #""data_base64": "a b""#, #""data_base64": "...""#,
            #""data_base64": "YQ==", "data": 1"#,
        ])
    func dataIsInOneFormAndWellFormed(members: String) {
        #expect(CloudEvents.refusal(CloudEvents.event(members))?.code == "invalid-data")
    }

    @Test func theTimeIsNotChecked() throws {
        #expect(
            try CloudEvents.decode(binary("ce-time", "yesterday"))[0].attributes.contains(.init("time", "yesterday")))
    }

    // MARK: Identity

    @Test func sourceAndIdCannotBeMistaken() throws {
        func keys(_ source: String, _ id: String) throws -> [String] {
            let body = #"{"specversion": "1.0", "type": "t", "source": "\#(source)", "id": "\#(id)"}"#
            return try CloudEvents.decode(request(body, [CloudEvents.json]))[0].dedupeKeys
        }
        #expect(try keys("a:b", "c") != keys("a", "b:c"))
        #expect(try keys("a", "c") == ["cloudevents:1:a:c"])
        let long = String(repeating: "x", count: 600)
        let (first, second) = (try keys(long, "1"), try keys(long, "2"))
        #expect(first != second)
        #expect(try keys(long, "1") == first)
        #expect(first.allSatisfy { $0.utf8.count == "cloudevents-sha256:".utf8.count + 64 })
        // Right at the bound, and one byte beyond it.
        let fitting = String(repeating: "x", count: 512 - "cloudevents:1:a:".utf8.count)
        #expect(try keys("a", fitting)[0].utf8.count == 512)
        #expect(try keys("a", fitting + "x")[0].hasPrefix("cloudevents-sha256:"))
    }

    @Test func theContentIDIsTheSubjectOrAnotherAttribute() throws {
        let request = CloudEvents.event(#""subject": "s", "route": "r", "empty": """#)
        func contentID(_ options: JSONValue) throws -> String? {
            try CloudEvents.decode(request, options: options)[0].contentID?.text
        }
        #expect(try contentID([:]) == "s")
        #expect(try contentID(["contentIdAttribute": "route"]) == "r")
        #expect(try contentID(["contentIdAttribute": "id"]) == "1")
        #expect(try contentID(["contentIdAttribute": "empty"]) == nil)
        #expect(try contentID(["contentIdAttribute": "absent"]) == nil)
        let long = CloudEvents.event(#""subject": "\#(String(repeating: "x", count: 4097))""#)
        #expect(CloudEvents.refusal(long)?.code == "invalid-content-id")
    }
}
