import Plugins
import RouterPlugin
import Testing

@Suite("CloudEvents format")
struct CloudEventsFormatTests {
    private func headers(_ message: DeliveryMessage) throws -> [String: String] {
        let request = try CloudEventsFormat(mode: .binary).render(message)
        return Dictionary(request.headers.map { ($0.name, $0.value) }) { first, _ in first }
    }

    @Test("A notification in structured mode")
    func structured() throws {
        let request = try CloudEventsFormat().render(message("{ \"n\": 1.0 }"))
        #expect(request.contentType == "application/cloudevents+json" && request.headers.isEmpty)
        #expect(
            String(decoding: request.body, as: UTF8.self) == """
                {"specversion":"1.0","id":"dlv_01","source":"routerd://com.example.Gallery",\
                "type":"routerd.scene.notification","subject":"doc/42","time":"2026-01-02T03:04:05.678Z",\
                "session":"win-7","sessionrole":"windowApplication","sessionstate":"background",\
                "sceneconfiguration":"Default","tier":"prefers","datacontenttype":"application/json",\
                "data":{ "n": 1.0 }}
                """)
    }

    @Test("A notification in binary mode")
    func binary() throws {
        let request = try CloudEventsFormat(mode: .binary).render(message("{ \"n\": 1.0 }"))
        #expect(request.contentType == "application/json" && request.body == Array("{ \"n\": 1.0 }".utf8))
        #expect(
            try headers(message()) == [
                "ce-specversion": "1.0", "ce-id": "dlv_01", "ce-source": "routerd://com.example.Gallery",
                "ce-type": "routerd.scene.notification", "ce-subject": "doc/42",
                "ce-time": "2026-01-02T03:04:05.678Z", "ce-session": "win-7", "ce-sessionrole": "windowApplication",
                "ce-sessionstate": "background", "ce-sceneconfiguration": "Default", "ce-tier": "prefers",
            ])
    }

    @Test("An event's data is the data of the standard envelope, and its place is told")
    func events() throws {
        let request = try CloudEventsFormat(mode: .binary).render(event())
        #expect(request.contentType == "application/json" && request.body == event().envelopeData)
        let headers = try headers(event())
        #expect(headers["ce-type"] == "routerd.scene.didDisconnect" && headers["ce-subject"] == nil)
        #expect(headers["ce-epoch"] == "3" && headers["ce-sequence"] == "5" && headers["ce-tier"] == nil)
    }

    @Test("Header values are percent-encoded as the binding has it")
    func encoding() throws {
        let values = try headers(message(contentID: "a b\"%é\u{7F}\r\n"))
        #expect(values["ce-subject"] == "a%20b%22%25%C3%A9%7F%0D%0A")
    }

    @Test("Data that is no JSON is in Base64 in structured mode, and as it is in binary mode")
    func otherData() throws {
        let body = try CloudEventsFormat().text(message("<a/>", contentType: "text/xml"))
        #expect(body.hasSuffix(#""datacontenttype":"text/xml","data_base64":"PGEvPg=="}"#))
        let binary = try CloudEventsFormat(mode: .binary).render(message("<a/>", contentType: "text/xml"))
        #expect(binary.contentType == "text/xml" && binary.body == Array("<a/>".utf8))
    }

    @Test("The mode is one of two")
    func mode() throws {
        let error = #expect(throws: PluginConfigurationError.self) { try format(CloudEventsFormat.kind, ["mode": "x"]) }
        #expect(error?.code == "invalid-value" && error?.pointer == "/mode")
        #expect(try format(CloudEventsFormat.kind, ["mode": "binary"]).render(event()).headers.isEmpty == false)
    }
}
