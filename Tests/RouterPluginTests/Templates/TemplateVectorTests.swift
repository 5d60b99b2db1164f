import RouterPlugin
import Testing

/// Templates over one event, with their results.
struct TemplateVectorTests {
    /// An event of a code host, with names and values that are hard to encode.
    static let payload = #"""
        {
          "action": "opened", "number": 7, "ratio": 1.50, "big": 12345678901234567890, "exponent": 1e+3, "minus": -0.0,
          "draft": false, "locked": true, "nothing": null, "blank": "", "list": [], "map": {},
          "repository": {"full_name": "octo/hello", "name": "hello", "topics": ["a", "b/c", "d"]},
          "issue": {"number": 1, "title": "Größe & Maß?", "html_url": "https://example.com/a?b=c#d"},
          "commits": [{"id": "c0", "files": ["x", "y"]}, {"id": "c1", "files": []}],
          "odd": {"full name": "two words", "a.b": "dotted", "it's": "quoted", "": "unnamed", "größe": "L"},
          "header": {"id": "payload-header"}, "query": "payload-query", "type": "payload-type", "payload": {"x": "inner"},
          "slashes": {"lead": "/a", "trail": "a/", "double": "a//b", "only": "/", "many": "a/b/c"},
          "dots": {"one": ".", "two": "..", "three": "...", "inside": "a/../b", "end": "a/..", "file": "a.b..c"},
          "sharp": "a#b", "question": "a?b", "space": "a b", "control": "a\u0000\n\u007fb", "c1": "a\u0085b",
          "percent": "100%", "encoded": "a%2Fb%zz", "reserved": ":/?#[]@!$&'()*+,;=", "marks": "-._~", "quote": "\"<>\\^`{|}",
          "emoji": "\ud83d\ude00", "combining": "e\u0301", "$ref": "r", "@type": "t", "kebab-case": "k", "0": "zero"
        }
        """#

    static func scope() throws -> TemplateScope {
        TemplateScope(
            payload: try JSONValue(parsing: Array(payload.utf8)),
            headers: [
                ("x-request-id", "req-1"), ("x-event", "issues"), ("twice", "a"), ("twice", "b"),
                ("broken", "a\u{FFFD}"),
                ("empty", ""),
            ],
            query: [("tenant", "acme/eu"), ("Tenant", "upper"), ("twice", "a"), ("twice", "b"), ("q x", "spaced")],
            attributes: [.init("subject", "orders/42"), .init("source", "urn:x:y")], type: "issues")
    }

    /// A text is the result; `missing` and `unusable` stand for the other outcomes.
    static let vectors: [(template: String, result: String)] = [
        // Literals and braces.
        ("app://inbox", "app://inbox"), ("a{{b}}c", "a{b}c"), ("{{{action}}}", "{opened}"), ("é 漢", "é 漢"),
        // The documented example, and its first alternative.
        (
            "github://{repository.full_name}/issues/{issue.number|pull_request.number}",
            "github://octo/hello/issues/1"
        ),
        ("{pull_request.number|issue.number}", "1"), ("{nothing|blank|list|map|action}", "opened"),
        // Values by kind.
        ("{action}", "opened"), ("{number}", "7"), ("{ratio}", "1.50"), ("{big}", "12345678901234567890"),
        ("{exponent}", "1e%2B3"), ("{minus}", "-0.0"), ("{draft}", "false"), ("{locked}", "true"),
        ("{nothing}", "missing nothing"), ("{blank}", "missing blank"), ("{list}", "missing list"),
        ("{map}", "missing map"), ("{absent}", "missing absent"), ("{absent|nothing}", "missing absent|nothing"),
        ("a{action}b{absent}", "missing absent"),
        // Defaults.
        ("{absent|'none'}", "none"), ("{absent|'a/b c'}", "a/b c"), ("{absent|'it''s'}", "it's"),
        ("{absent|'{x|y}'}", "{x|y}"), ("{action|'none'}", "opened"), ("{'fixed'}", "fixed"),
        // Members and elements.
        ("{repository.topics[0]}", "a"), ("{repository.topics[LAST]}", "d"), ("{repository.topics[1]}", "b/c"),
        ("{repository.topics[3]}", "missing repository.topics[3]"), ("{commits[1].id}", "c1"),
        ("{commits[0].files[LAST]}", "y"), ("{commits[LAST].files[LAST]}", "missing commits[LAST].files[LAST]"),
        ("{commits.id}", "missing commits.id"), ("{commits.0}", "missing commits.0"),
        ("{action[0]}", "missing action[0]"),
        ("{issue.number.x}", "missing issue.number.x"), ("{0}", "zero"), ("{$ref}-{@type}-{kebab-case}", "r-t-k"),
        ("{odd['full name']}", "two%20words"), ("{odd['a.b']}", "dotted"), ("{odd['it''s']}", "quoted"),
        ("{odd['']}", "unnamed"), ("{odd['größe']}", "L"), ("{['action']}", "opened"),
        ("{issue.Number}", "missing issue.Number"),
        // Beside the payload.
        ("{type}", "issues"), ("{payload.type}", "payload-type"), ("{header.X-Request-ID}", "req-1"),
        ("{header['x-event']}", "issues"), ("{payload.header.id}", "payload-header"),
        ("{['header'].id}", "payload-header"),
        ("{payload.query}", "payload-query"), ("{payload.payload.x}", "inner"), ("{payload}", "missing payload"),
        ("{header.twice}", "missing header.twice"), ("{header.broken}", "missing header.broken"),
        ("{header.empty}", "missing header.empty"), ("{header.absent|'x'}", "x"), ("{query.tenant}", "acme/eu"),
        ("{query.Tenant}", "upper"), ("{query.twice}", "missing query.twice"), ("{query['q x']}", "spaced"),
        ("{attribute.subject}", "orders/42"), ("{attribute.Subject}", "orders/42"),
        ("{attribute.source}", "urn%3Ax%3Ay"),
        ("{attribute.absent}", "missing attribute.absent"),
        // Slashes.
        ("{slashes.many}", "a/b/c"), ("x://{slashes.lead}", "x://%2Fa"), ("{slashes.trail}/b", "a%2F/b"),
        ("{slashes.double}", "a%2F%2Fb"), ("{slashes.only}", "%2F"), ("{slashes.many:segment}", "a%2Fb%2Fc"),
        ("{+slashes.lead}", "/a"), ("{repository.full_name:segment}", "octo%2Fhello"),
        ("{+repository.full_name}", "octo/hello"),
        // Dots.
        ("a/{dots.two}/b", "unusable dots.two"), ("a/{dots.one}", "unusable dots.one"),
        ("{dots.inside}", "unusable dots.inside"),
        ("{dots.end}", "unusable dots.end"), ("a/.{dots.one}/b", "unusable dots.one"),
        ("{dots.one}{dots.one}", "unusable dots.one"),
        ("{dots.two:segment}", "unusable dots.two"), ("{dots.three}", "..."), ("a{dots.two}", "a.."),
        ("{dots.file}", "a.b..c"),
        ("../{action}", "../opened"), ("a?x={dots.two}", "a?x=.."), ("a?/{dots.two}", "a?/.."),
        ("a/{+dots.two}", "a/.."),
        ("{dots.two}?x", "unusable dots.two"),
        // Everything else that could add structure.
        ("{sharp}", "a%23b"), ("{question}", "a%3Fb"), ("{space}", "a%20b"), ("{control}", "a%00%0A%7Fb"),
        ("{c1}", "a%C2%85b"),
        ("{percent}", "100%25"), ("{encoded}", "a%252Fb%25zz"), ("{marks}", "-._~"),
        ("{reserved}", "%3A/%3F%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D"),
        ("{quote}", "%22%3C%3E%5C%5E%60%7B%7C%7D"),
        ("{emoji}", "%F0%9F%98%80"), ("{combining}", "e%CC%81"),
        ("{issue.title}", "Gr%C3%B6%C3%9Fe%20%26%20Ma%C3%9F%3F"),
        ("{+reserved}", ":/?#[]@!$&'()*+,;="), ("{+issue.html_url}", "https://example.com/a?b=c#d"),
        ("{+encoded}", "a%2Fb%25zz"), ("{+percent}", "100%25"), ("{+space}", "a%20b"), ("{+control}", "a%00%0A%7Fb"),
        ("{+emoji}", "%F0%9F%98%80"), ("{+quote}", "%22%3C%3E%5C%5E%60%7B%7C%7D"),
    ]

    @Test func everyVectorHasItsResult() throws {
        #expect(Self.vectors.count >= 60)
        let scope = try Self.scope()
        for (text, result) in Self.vectors {
            let template = try PayloadTemplate(text)
            let found = Self.summary(of: template.evaluate(scope))
            #expect(Array(found.utf8) == Array(result.utf8), "\(text): \(found)")
        }
    }

    @Test func everyVectorReadsBackAsItPrints() throws {
        for (text, _) in Self.vectors {
            let template = try PayloadTemplate(text)
            let again = try PayloadTemplate(template.description)
            #expect(again == template, "\(text): \(template)")
            #expect(again.description == template.description, "\(text)")
        }
    }

    @Test(
        arguments: [
            ("{['action']}", "{action}"), ("{payload.issue.number}", "{issue.number}"),
            ("{['header']}", "{payload.header}"),
            ("{payload['x y']}", "{['x y']}"), ("{payload[0]}", "{[0]}"), ("{payload}", "{payload}"),
            ("{header['X-Event']}", "{header.x-event}"), ("{header['x y']}", "{header['x y']}"),
            ("{+a|'b''c'}", "{+a|'b''c'}"), ("{a:segment}", "{a:segment}"), ("{{x}}{type}", "{{x}}{type}"),
        ])
    func templatesPrintInOneForm(text: String, printed: String) throws {
        #expect(try PayloadTemplate(text).description == printed)
    }

    private static func summary(of outcome: PayloadTemplate.Outcome) -> String {
        switch outcome {
        case .text(let text): text
        case .missing(let paths): "missing \(paths.map(\.description).joined(separator: "|"))"
        case .unusable(.dotSegment(let path)): "unusable \(path)"
        case .unusable(.tooLong(let limit)): "longer than \(limit)"
        }
    }
}

struct TemplateOutcomeTests {
    private func scope(_ text: String) -> TemplateScope {
        TemplateScope(payload: ["x": .string(text)])
    }

    @Test func aResultIsAsLongAsAContentIDAtMost() throws {
        let template = try PayloadTemplate("{x}")
        let longest = String(repeating: "a", count: 4096)
        #expect(template.evaluate(scope(longest)) == .text(longest))
        #expect(try ContentID(longest).text == longest)
        #expect(template.evaluate(scope(longest + "a")) == .unusable(.tooLong(limit: 4096)))
        // The encoded length counts.
        #expect(template.evaluate(scope(String(repeating: "é", count: 700))) == .unusable(.tooLong(limit: 4096)))
        #expect(template.evaluate(scope("abc"), limit: 2) == .unusable(.tooLong(limit: 2)))
        #expect(try PayloadTemplate("{y|'abc'}").evaluate(scope("a"), limit: 2) == .unusable(.tooLong(limit: 2)))
    }

    @Test func outcomesSayWhy() throws {
        let missing = try PayloadTemplate("{a.b|header.x}").evaluate(scope(""))
        #expect(missing.description == "The event has no value at a.b or header.x.")
        #expect(missing.text == nil)
        let dots = try PayloadTemplate("{x}").evaluate(scope(".."))
        let reason = "The value at x makes a segment of the result . or .., which means another place in a URL."
        #expect(dots.description == reason)
        #expect(try PayloadTemplate("{x}").evaluate(scope("y")).text == "y")
        let long = try PayloadTemplate("{x}").evaluate(scope("abc"), limit: 1)
        #expect(long.description == "The result is longer than 1 bytes.")
    }

    @Test func aPayloadThatIsATextAloneIsAValue() throws {
        #expect(try PayloadTemplate("{payload}").evaluate(TemplateScope(payload: "a b")) == .text("a%20b"))
        #expect(try PayloadTemplate("{[1].x}").evaluate(TemplateScope(payload: [0, ["x": 2]])) == .text("2"))
        #expect(try PayloadTemplate("{x|'none'}").evaluate(TemplateScope(payload: nil)) == .text("none"))
    }

    @Test func aScopeOfAnEventTakesItsPayloadAndTheRequest() throws {
        let request = SourceRequest(
            query: [("q", "1")], headers: [("x-id", "2")], body: Array(#"[{"x": 3}]"#.utf8),
            receivedAt: Timestamp(milliseconds: 0))
        let event = SourceEvent(
            type: "t", payload: Array(#"{"x": 4}"#.utf8), attributes: [SourceEvent.Attribute("a", "5")])
        let scope = TemplateScope(request, event)
        let template = try PayloadTemplate("{query.q}{header.x-id}{x}{attribute.a}{type}")
        #expect(template.evaluate(scope) == .text("1245t"))
        #expect(TemplateScope(request, SourceEvent(payload: [0xFF])).payload == nil)
        #expect(TemplateScope(request, SourceEvent(payload: [])).payload == nil)
    }

    @Test func templatesAreComparedByTheirBytes() throws {
        #expect(try PayloadTemplate("caf\u{E9}") != PayloadTemplate("cafe\u{301}"))
        #expect(try PayloadTemplate("{['caf\u{E9}']}") != PayloadTemplate("{['cafe\u{301}']}"))
        #expect(try PayloadTemplate("{a}") != PayloadTemplate("{+a}"))
        #expect(try PayloadTemplate("{a}").hashValue == PayloadTemplate("{payload.a}").hashValue)
    }
}
