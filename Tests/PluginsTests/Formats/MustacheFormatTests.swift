import Plugins
import RouterPlugin
import RouterTesting
import Testing

@Suite("Mustache format")
struct MustacheFormatTests {
    private func template(_ text: String, _ contentType: String? = nil) throws -> any DeliveryFormat {
        var options: JSONObject = JSONObject()
        options["template"] = .string(text)
        options["contentType"] = contentType.map { .string($0) }
        return try MustacheFormat.kind.make(.object(options))
    }

    private func rendered(
        _ text: String, _ message: DeliveryMessage, _ contentType: String = "text/plain"
    ) throws -> String {
        try template(text, contentType).text(message)
    }

    // MARK: Context

    static let names: [(String, String)] = [
        ("{{type}} {{timestamp}} {{application}}", "scene.notification 2026-01-02T03:04:05.678Z com.example.Gallery"),
        ("{{webhookId}} {{attempt}}", "dlv_01 2"),
        (
            "{{session.id}} {{session.role}} {{session.configuration}} {{session.activationState}}",
            "win-7 windowApplication Default background"
        ),
        ("{{kind}} {{targetContentIdentifier}} {{decision.tier}}", "notification doc/42 prefers"),
        ("{{payload.n}} {{payload.deep.er}} {{{payload.deep}}}", #"1.50 x {"er":"x"}"#),
        ("{{#payload.list}}{{index()}}{{^last()}},{{/last()}}{{/payload.list}}", "0,1,2"),
        ("{{#payload.list}}{{.}}{{/payload.list}}", "1true{}"),
        ("{{#payload.no}}a{{/payload.no}}{{^payload.no}}b{{/payload.no}}", "b"),
        ("{{#payload.yes}}a{{/payload.yes}}{{^payload.yes}}b{{/payload.yes}}", "a"),
        ("{{#payload.none}}a{{/payload.none}}{{^payload.none}}b{{/payload.none}}", "b"),
        ("{{#payload.blank}}a{{/payload.blank}}{{^payload.blank}}b{{/payload.blank}}", "b"),
        ("{{#payload.nothing}}a{{/payload.nothing}}{{^payload.nothing}}b{{/payload.nothing}}{{payload.nothing}}", "b"),
        ("{{uppercased(payload.text)}} {{lowercased(payload.text)}} {{count(payload.list)}}", "CAFÉ café 3"),
        ("{{#enumerated(payload.deep)}}{{key}}={{value}};{{/enumerated(payload.deep)}}", "er=x;"),
        ("{{first(payload.list)}} {{last(payload.list)}} {{count(payload.deep)}}", "1 {} 1"),
        ("{{missing}}{{payload.list.elements}}{{payload.text.value}}{{payload.value}}", ""),
    ]

    @Test("Templates see the message's fields and the payload", arguments: names)
    func context(text: String, expected: String) throws {
        let payload = #"""
            {"n":1.50,"deep":{"er":"x"},"list":[1,true,{}],"no":false,"yes":true,"none":[],"blank":"","nothing":null,
            "text":"Café"}
            """#
        #expect(try rendered(text, message(payload)) == expected)
    }

    @Test("Templates see what an event is about, and why a scene connects")
    func events() throws {
        #expect(
            try rendered("{{event.dismissal}} {{epoch}}.{{sequence}}{{payload}}{{kind}}", event()) == "standard 3.5")
        let options: JSONValue = ["notification": [:]]
        let connecting = message {
            $0.connection = ConnectionView(
                options: options.asObject ?? JSONObject(), activation: JSONObject(),
                userActivity: ["activityType": "edit"])
        }
        #expect(
            try rendered("{{userActivity.activityType}} {{{connectionOptions}}} {{{activation}}}", connecting)
                == #"edit {"notification":{}} {}"#)
    }

    @Test("A payload that is no JSON is not there")
    func otherPayload() throws {
        let text = try rendered("{{^payload}}none{{/payload}}", message("{}", contentType: "text/plain"))
        #expect(text == "none")
    }

    // MARK: Escaping

    static let hostile = [
        "\"", "\\", "\"},\"x\":{\"", "\\\"", "a\nb\u{0}\u{1F}", "é\u{301}\u{202E}😀\u{2028}", "null", "{{x}}",
        "</script>", "",
        "\"quoted\"",
    ]

    @Test("No value breaks out of a JSON string, with either kind of tag", arguments: hostile)
    func jsonEscaping(text: String) throws {
        let payload: JSONValue = ["text": .string(text), "in": ["k": .string(text)]]
        let body = try template(#"{"two":"<{{payload.text}}>","three":{{{payload.text}}},"in":"{{payload.in}}"}"#)
            .render(message(String(decoding: payload.serialized(), as: UTF8.self))).body
        let value = try JSONValue(parsing: body)
        #expect(value.asObject?.count == 3)
        #expect(value["two"] == .string("<\(text)>"))
        #expect(value["three"] == .string(text))
        let inner = try #require(value["in"]?.asString)
        #expect(try JSONValue(parsing: Array(inner.utf8)) == ["k": .string(text)])
    }

    @Test("Values that are no strings are JSON, and in a string their text")
    func jsonValues() throws {
        let payload = #"{"n":1.50,"yes":true,"none":null,"list":[1,"a"]}"#
        let text = try template(
            #"{"n":{{{payload.n}}},"m":"{{payload.n}}","yes":{{{payload.yes}}},"none":{{{payload.none}}},"# + "\n"
                + #""nil":"{{payload.none}}","list":{{{payload.list}}},"all":{{{payload}}},"count":{{count(payload.list)}}}"#
        ).text(message(payload))
        #expect(
            text == #"{"n":1.50,"m":"1.50","yes":true,"none":null,"# + "\n"
                + #""nil":"","list":[1,"a"],"all":\#(payload),"count":2}"#)
    }

    static let otherTypes: [(String, String)] = [
        ("text/html", "&lt;a&gt; &amp; &quot;&#39;é"), ("application/atom+xml", "&lt;a&gt; &amp; &quot;&#39;é"),
        ("text/plain; charset=utf-8", "<a> & \"'é"),
        ("application/x-www-form-urlencoded", "%3Ca%3E%20%26%20%22%27%C3%A9"),
    ]

    @Test("The content type chooses the escaping", arguments: otherTypes)
    func escaping(contentType: String, expected: String) throws {
        let payload = #"{"text":"<a> & \"'é"}"#
        let made = try template("{{payload.text}}", contentType)
        #expect(try made.text(message(payload)) == expected)
        #expect(try made.render(message(payload)).contentType == contentType)
    }

    @Test(
        "Content types that templates cannot write are refused",
        arguments: ["", "application/octet-stream", "image/png", "text/plain\r\nx: y", "tëxt/plain", "json"])
    func contentType(text: String) throws {
        let error = #expect(throws: PluginConfigurationError.self) { try template("x", text) }
        #expect(error?.pointer == "/contentType" && error?.code == "invalid-value")
    }

    // MARK: Faults

    static let faults: [(String, String)] = [
        ("", "must not be empty"), ("{{#a}}", "a section is not closed (line 1, column"),
        ("\n{{#a}}{{/b}}", "a section is closed by another name than its own (line 2, column 10)"),
        ("{{a", "is no Mustache template"), ("{{a b}}", "is no Mustache template"),
        ("{{f(x}}", "is no Mustache template"),
        ("{{=<% %>=}}", "must not change the delimiters"), ("{{> part}}", "must not have partials"),
        ("{{<a}}{{/a}}", "must not have partials"), ("{{$a}}{{/a}}", "must not have partials"),
        ("{{% CONTENT_TYPE:TEXT}}", "must not have pragmas"),
        (String(repeating: "{{#a}}", count: 65), "has 65 sections; 64 are allowed"),
        (String(repeating: "x", count: 16 * 1024 + 1), "has 16385 bytes; 16384 are allowed"),
        ("{{\(String(repeating: "a(", count: 9))x\(String(repeating: ")", count: 9))}}", "more than 8 functions"),
    ]

    @Test("A template that cannot be read is refused when it is configured", arguments: faults)
    func fault(text: String, expected: String) throws {
        let error = #expect(throws: PluginConfigurationError.self) { try template(text) }
        #expect(error?.code == "invalid-value" && error?.pointer == "/template")
        #expect(error?.message.hasPrefix("The field template ") == true)
        #expect(error?.message.contains(expected) == true, "\(error?.message ?? "")")
    }

    @Test("A template is needed")
    func missing() {
        let error = #expect(throws: PluginConfigurationError.self) { try format(MustacheFormat.kind) }
        #expect(error?.code == "missing-field" && error?.pointer == "/template")
    }

    @Test("A rendering that is to be JSON and is none fails, and says where")
    func notJSON() throws {
        let made = try template(#"{"a":{{payload.n}}}"#)
        #expect(try made.text(message(#"{"n":1}"#)) == #"{"a":1}"#)
        let error = #expect(throws: DeliveryFormatError.self) { try made.render(message(#"{"m":"secret"}"#)) }
        #expect(error?.code == "rendering-not-json" && error?.message.contains("at byte 5") == true)
        #expect(error?.message.contains("secret") == false)
    }

    // MARK: Bounds

    static let floods: [(String, String)] = [
        (
            "{{#payload.list}}{{#payload.list}}{{#payload.list}}x{{/payload.list}}{{/payload.list}}{{/payload.list}}",
            "text/plain"
        ),
        (String(repeating: "{{payload.big}}", count: 1000), "text/plain"),
        (String(repeating: "{{{payload}}}", count: 1000), "text/plain"),
        (String(repeating: "{{uppercased(payload.big)}}", count: 600), "text/plain"),
        ("[" + String(repeating: "\"{{payload.big}}\",", count: 900) + "0]", "application/json"),
        ("{{#payload.list}}{{#enumerated(payload.wide)}}{{/enumerated(payload.wide)}}{{/payload.list}}", "text/plain"),
    ]

    @Test("The work is bounded, however a template multiplies its input", arguments: floods.indices)
    func flood(place: Int) throws {
        let (text, contentType) = Self.floods[place]
        let list = repeatElement("{}", count: 20_000).joined(separator: ",")
        let wide = (0..<9000).map { "\"\($0)\":0" }.joined(separator: ",")
        let payload = #"{"list":[\#(list)],"big":"\#(String(repeating: "<", count: 60_000))","wide":{\#(wide)}}"#
        let made = try template(text, contentType)
        let error = #expect(throws: DeliveryFormatError.self) { try made.render(message(payload)) }
        #expect(error?.code == "rendering-too-large")
    }

    @Test("Texts that are nearly templates are read or refused, and never end the process", arguments: 0..<4)
    func fuzz(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let parts = [
            "{{", "}}", "{", "}", "{{{", "}}}", "#", "^", "/", "!", "&", ".", "..", "a", "payload", "(", ")", "()", " ",
            "\n",
            "\r\n", "\t", "\u{301}", "\u{2028}", "é", "{{#a}}", "{{/a}}", "{{^a}}", "{{.}}", "{{a.b}}", "{{f(a)}}",
            "\u{0}", "\"",
            "{{!", "{{#payload.list}}", "{{/payload.list}}", "index()",
        ]
        var read = 0
        for _ in 0..<2000 {
            let count = Int.random(in: 1...12, using: &generator)
            let text = (0..<count).map { _ in parts.randomElement(using: &generator) ?? "" }.joined()
            guard let made = try? template(text, "text/plain") else { continue }
            read += 1
            _ = try? made.render(message(#"{"list":[1,{"a":[]}],"a":{"b":"x"}}"#))
        }
        #expect(read > 100)
    }
}
