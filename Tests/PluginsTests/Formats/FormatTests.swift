import Plugins
import RouterPlugin
import RouterTesting
import Testing

@Suite("Formats")
struct FormatTests {
    static let formats: [(DeliveryFormatKind, JSONValue)] = [
        (StandardFormat.kind, [:]), (RawFormat.kind, [:]), (CloudEventsFormat.kind, [:]),
        (CloudEventsFormat.kind, ["mode": "binary"]), (MustachePresets.slack, [:]), (MustachePresets.discord, [:]),
        (MustachePresets.ntfy, ["topic": "a-Topic_1", "priority": 5]),
        (
            MustacheFormat.kind,
            ["template": #"{"a":"{{payload}}","b":[{{#payload.list}}{},{{/payload.list}}null],"c":{{{type}}}}"#]
        ),
        (MustacheFormat.kind, ["template": "{{title}}\n{{{payload}}}", "contentType": "text/plain; charset=utf-8"]),
        (MustacheFormat.kind, ["template": "<p>{{title}}</p>", "contentType": "text/html"]),
        (MustacheFormat.kind, ["template": "t={{title}}", "contentType": "application/x-www-form-urlencoded"]),
    ]

    @Test("Every built-in format keeps the laws", arguments: formats.indices)
    func conforms(place: Int) throws {
        let (kind, options) = Self.formats[place]
        let made = try format(kind, options)
        #expect(made.id == kind.id)
        #expect(DeliveryFormatSuite.violations(of: made, seed: UInt64(place)) == [])
    }

    @Test("The built-in formats have names of their own, and one line each")
    func kinds() throws {
        let kinds = BuiltInPlugins.deliveryFormatKinds
        let registry = try PluginRegistry(sourceKinds: [], rules: [], deliveryFormatKinds: kinds)
        #expect(
            registry.deliveryFormatKinds.map(\.id.text)
                == Set(Self.formats.map(\.0.id.text)).sorted { a, b in
                    let names = kinds.map(\.id.text)
                    return names.firstIndex(of: a) ?? 0 < names.firstIndex(of: b) ?? 0
                })
        #expect(kinds.allSatisfy { !$0.summary.isEmpty && !$0.summary.contains("\n") })
    }

    @Test("Options that a format does not know are refused", arguments: formats.indices)
    func unknownOption(place: Int) throws {
        let (kind, options) = Self.formats[place]
        var object = try #require(options.asObject)
        object["colour"] = "red"
        let error = #expect(throws: PluginConfigurationError.self) { try kind.make(.object(object)) }
        #expect(error?.code == "unknown-field" && error?.pointer == "/colour")
        #expect(throws: PluginConfigurationError.self) { try kind.make("text") }
    }

    @Test("The standard format is the standard envelope")
    func standard() throws {
        let request = try StandardFormat().render(message())
        #expect(request.contentType == "application/json" && request.headers.isEmpty)
        #expect(
            String(decoding: request.body, as: UTF8.self) == """
                {"type":"scene.notification","timestamp":"2026-01-02T03:04:05.678Z","data":{\
                "application":"com.example.Gallery",\
                "session":{"id":"win-7","role":"windowApplication","configuration":"Default",\
                "activationState":"background"},\
                "targetContentIdentifier":"doc/42",\
                "decision":{"tier":"prefers","rerouteOf":null},"payload":{"aps":{"alert":"Hello"}}}}
                """)
    }

    @Test("A payload that is no JSON stands in the standard envelope in Base64")
    func otherPayload() throws {
        let text = try StandardFormat().text(message("<a/>", contentType: "Application/XML; charset=utf-8"))
        #expect(text.hasSuffix(#","payloadContentType":"Application/XML; charset=utf-8","payloadBase64":"PGEvPg=="}}"#))
    }

    @Test("The raw format is the payload, byte for byte, under its content type")
    func raw() throws {
        let bytes: [UInt8] = [0xFF, 0, 0x7B]
        let request = try RawFormat().render(
            message(contentType: "application/vnd.example") { message in
                guard case .notification(var notification) = message.content else { return }
                notification.payload = bytes
                message.content = .notification(notification)
            })
        #expect(request == RenderedRequest(contentType: "application/vnd.example", body: bytes))
        #expect(try RawFormat().text(message(" {\"a\" : 1.0}\n")) == " {\"a\" : 1.0}\n")
    }

    @Test("The raw format has events in the standard envelope")
    func rawEvent() throws {
        #expect(try RawFormat().render(event()) == StandardFormat().render(event()))
    }
}
