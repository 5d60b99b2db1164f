import Plugins
import RouterPlugin
import Testing

@Suite("Mustache presets")
struct MustachePresetTests {
    /// A payload, or nil for an event, with the title and the text that it gives.
    static let texts: [(String?, String, String)] = [
        (#"{"aps":{"alert":"Hello"}}"#, "", "Hello"),
        (#"{"aps":{"alert":{"title":"T","body":"B"}}}"#, "T", "B"),
        (#"{"aps":{"alert":{"title":"T","subtitle":"S","body":"B"}}}"#, "T", "S\nB"),
        (#"{"aps":{"alert":{"title":"T"}}}"#, "", "T"), (#"{"aps":{"alert":{"body":"B"}}}"#, "", "B"),
        (#"{"aps":{"alert":{"title":"two\nlines","body":"B"}}}"#, "two lines", "B"),
        (#"{"aps":{"alert":""}}"#, "scene.notification", "doc/42"),
        (#"{"aps":{"alert":{"loc-key":"K"}}}"#, "scene.notification", "doc/42"),
        (#"{"aps":{"alert":7}}"#, "scene.notification", "doc/42"), ("{}", "scene.notification", "doc/42"),
        (#"{"aps":{"alert":" "}}"#, "scene.notification", "doc/42"),
        (#"{"aps":{"alert":"\n\r\n\t"}}"#, "scene.notification", "doc/42"),
        (#"{"aps":{"alert":"\u00A0\u3000"}}"#, "scene.notification", "doc/42"),
        (#"{"aps":{"alert":"\u200B\u200D\uFEFF\u2060"}}"#, "scene.notification", "doc/42"),
        (#"{"aps":{"alert":{"title":" ","body":"\n\t"}}}"#, "scene.notification", "doc/42"),
        (#"{"aps":{"alert":{"title":" ","subtitle":"\u200B","body":" B "}}}"#, "", " B "),
        ("[]", "scene.notification", "doc/42"), (nil, "scene.didDisconnect", "win-7"),
    ]

    private func sent(_ kind: DeliveryFormatKind, _ options: JSONValue = [:], of payload: String?) throws -> JSONValue {
        let request = try kind.make(options).render(payload.map { message($0) } ?? event())
        #expect(request.contentType == "application/json" && request.headers.isEmpty)
        return try JSONValue(parsing: request.body)
    }

    @Test("Title and text come from the alert, or else from what the message is", arguments: texts)
    func text(payload: String?, title: String, body: String) throws {
        let slack = title.isEmpty ? body : "*\(title)*\n\(body)"
        #expect(try sent(MustachePresets.slack, of: payload) == ["text": .string(slack)])
        let discord = title.isEmpty ? body : "**\(title)**\n\(body)"
        #expect(
            try sent(MustachePresets.discord, of: payload)
                == ["content": .string(discord), "allowed_mentions": ["parse": []]])
        #expect(
            try sent(MustachePresets.ntfy, ["topic": "t"], of: payload)
                == ["topic": "t", "title": .string(title), "message": .string(body)])
    }

    @Test("Without a content id and a session, the application is named")
    func application() throws {
        let message = message("{}", contentID: nil) { $0.session = nil }
        let text = try format(MustachePresets.slack).text(message)
        #expect(text == #"{"text":"*scene.notification*\ncom.example.Gallery"}"#)
    }

    @Test("Nothing in a text mentions people in Slack")
    func mentions() throws {
        let payload = #"{"aps":{"alert":{"title":"<!channel>","body":"<@U1> & \"all\""}}}"#
        #expect(
            try sent(MustachePresets.slack, of: payload)
                == ["text": "*&lt;!channel&gt;*\n&lt;@U1&gt; &amp; \"all\""])
    }

    @Test("Long texts are cut to a length that all of them take")
    func length() throws {
        let long = String(repeating: "é", count: 5000)
        let payload = #"{"aps":{"alert":{"title":"\#(long)","body":"\#(long)"}}}"#
        let content = try #require(try sent(MustachePresets.discord, of: payload)["content"]?.asString)
        #expect(content.unicodeScalars.count < 2000 && content.hasSuffix("é…"))
        let note = try sent(MustachePresets.ntfy, ["topic": "t"], of: payload)
        #expect(note["title"]?.asString?.unicodeScalars.count == 201)
        #expect(note["message"]?.asString?.unicodeScalars.count == 1501)
    }

    @Test("ntfy makes no file of a message: it has 4,096 bytes at most", arguments: ["é", "漢", "😀", "👨‍👩‍👧‍👦", "a"])
    func bytes(letter: String) throws {
        for count in [1364, 1365, 1366, 5000] {
            let text = String(repeating: letter, count: count)
            let payload: JSONValue = ["aps": ["alert": .string(text)]]
            let body = String(decoding: payload.serialized(), as: UTF8.self)
            let sent = try sent(MustachePresets.ntfy, ["topic": "t"], of: body)
            let note = try #require(sent["message"]?.asString)
            #expect(note.utf8.count <= 4096 && note.unicodeScalars.count <= 1501)
            #expect(note == text || note.hasSuffix("…") && text.utf8.starts(with: note.utf8.dropLast(3)))
            // No more is cut than must be.
            let fits = text.utf8.count <= 4096 && text.unicodeScalars.count <= 1500
            #expect(fits == (note == text) && (fits || note.utf8.count > 4088 || note.unicodeScalars.count == 1501))
        }
    }

    @Test("ntfy needs a topic, and takes a priority")
    func ntfy() throws {
        #expect(try sent(MustachePresets.ntfy, ["topic": "t", "priority": 5], of: "{}")["priority"] == 5)
        let faults: [(JSONValue, String)] = [
            ([:], "/topic"), (["topic": ""], "/topic"), (["topic": "a b"], "/topic"), (["topic": "{{x}}"], "/topic"),
            (["topic": "t", "priority": 6], "/priority"), (["topic": "t", "priority": "high"], "/priority"),
        ]
        for (options, pointer) in faults {
            let error = #expect(throws: PluginConfigurationError.self) { try format(MustachePresets.ntfy, options) }
            #expect(error?.pointer == pointer, "\(options)")
        }
    }
}
