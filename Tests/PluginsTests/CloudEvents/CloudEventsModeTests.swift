import Plugins
import RouterPlugin
import RouterTesting
import Testing

/// Examples after cloudevents/spec 1.0.2: `formats/json-format.md` 3.2 and 4.3, `bindings/http-protocol-binding.md` 3.
enum CloudEvents {
    static let structured = #"""
        {
            "specversion" : "1.0",
            "type" : "com.example.someevent",
            "source" : "/mycontext",
            "subject": null,
            "id" : "C234-1234-1234",
            "time" : "2018-04-05T17:31:00Z",
            "comexampleextension1" : "value",
            "comexampleothervalue" : 5,
            "datacontenttype" : "application/json",
            "data" : {
                "appinfoA" : "abc",
                "appinfoB" : 123,
                "appinfoC" : true
            }
        }
        """#

    static let xml = #"""
        {"specversion": "1.0", "type": "com.example.someevent", "source": "/mycontext", "id": "B234-1234-1234",
         "time": "2018-04-05T17:31:00Z", "comexampleextension1": "value", "comexampleothervalue": 5,
         "unsetextension": null, "datacontenttype": "application/xml", "data": "<much wow=\"xml\"/>"}
        """#

    static let base64 = #"""
        {"specversion": "1.0", "type": "com.example.someevent", "source": "/mycontext", "id": "D234-1234-1234",
         "data_base64": "eyAieHl6IjogMTIzIH0="}
        """#

    static let batch = #"""
        [
          {
              "specversion" : "1.0", "type" : "com.example.someevent", "source" : "/mycontext/4",
              "id" : "B234-1234-1234", "time" : "2018-04-05T17:31:00Z", "comexampleothervalue" : 5,
              "datacontenttype" : "application/vnd.apache.thrift.binary", "data_base64" : "eyAieHl6IjogMTIzIH0="
          },
          {"specversion" : "1.0", "type" : "com.example.someotherevent", "source" : "/mycontext/9",
              "id" : "C234-1234-1234", "subject" : "orders/9", "data" : { "appinfoB" : 1.50 } }
        ]
        """#

    static let headers = [
        (name: "ce-specversion", value: "1.0"), (name: "ce-type", value: "com.example.someevent"),
        (name: "ce-time", value: "2018-04-05T03:56:24Z"), (name: "ce-id", value: "1234-1234-1234"),
        (name: "ce-source", value: "/mycontext/subcontext"), (name: "ce-subject", value: "orders/42"),
        (name: "ce-comexampleothervalue", value: "5"),
    ]

    static let json = (name: "content-type", value: "application/cloudevents+json; charset=UTF-8")
    static let jsonBatch = (name: "content-type", value: "application/cloudevents-batch+json; charset=UTF-8")
    static let data = (name: "content-type", value: "application/json; charset=utf-8")

    static func event(_ members: String) -> SourceRequest {
        request(#"{"specversion": "1.0", "type": "t", "source": "/s", "id": "1", \#(members)}"#, [json])
    }

    static func decode(_ request: SourceRequest, options: JSONValue = [:]) throws -> [SourceEvent] {
        try CloudEventsSource(options: options).decode(request).events
    }

    static func refusal(_ request: SourceRequest) -> SourceError? {
        do {
            _ = try CloudEventsSource().decode(request)
            return nil
        } catch {
            return error
        }
    }
}

struct CloudEventsModeTests {
    @Test func aStructuredEventIsKeptAsReceived() throws {
        let events = try CloudEvents.decode(request(CloudEvents.structured, [CloudEvents.json]))
        let expected = SourceEvent(
            type: "com.example.someevent", payload: Array(CloudEvents.structured.utf8),
            contentType: "application/cloudevents+json", dedupeKeys: ["cloudevents:10:/mycontext:C234-1234-1234"],
            attributes: [
                .init("specversion", "1.0"), .init("type", "com.example.someevent"), .init("source", "/mycontext"),
                .init("id", "C234-1234-1234"), .init("time", "2018-04-05T17:31:00Z"),
                .init("comexampleextension1", "value"), .init("comexampleothervalue", "5"),
                .init("datacontenttype", "application/json"),
            ])
        #expect(events == [expected])
    }

    @Test func dataMayBeTextOrBase64() throws {
        #expect(try CloudEvents.decode(request(CloudEvents.xml, [CloudEvents.json])).count == 1)
        let event = try CloudEvents.decode(request(CloudEvents.base64, [CloudEvents.json]))[0]
        #expect(event.payload == Array(CloudEvents.base64.utf8))
        #expect(!event.attributes.contains { $0.name.hasPrefix("data") })
        for data in [#""data": "I'm just a string""#, #""data": null"#, #""data": 1.5"#, #""data_base64": """#] {
            #expect(try CloudEvents.decode(CloudEvents.event(data)).count == 1, "\(data)")
        }
    }

    @Test func eachElementOfABatchIsAnEventWithItsBytes() throws {
        let events = try CloudEvents.decode(request(CloudEvents.batch, [CloudEvents.jsonBatch]))
        #expect(events.map(\.type) == ["com.example.someevent", "com.example.someotherevent"])
        #expect(events.map(\.contentID?.text) == [nil, "orders/9"])
        #expect(
            events.map(\.dedupeKeys) == [
                ["cloudevents:12:/mycontext/4:B234-1234-1234"], ["cloudevents:12:/mycontext/9:C234-1234-1234"],
            ])
        let body = CloudEvents.batch
        for event in events {
            #expect(body.contains(String(decoding: event.payload, as: UTF8.self)))
            #expect(event.contentType == "application/cloudevents+json")
            #expect(try JSONValue(parsing: event.payload).kind == .object)
        }
        // Spaces and the number as written.
        #expect(String(decoding: events[1].payload, as: UTF8.self).hasSuffix(#""data" : { "appinfoB" : 1.50 } }"#))
    }

    @Test func anEventThatABatchRepeatsIsLeftOut() throws {
        func event(_ source: String, _ id: String, _ data: Int) -> String {
            #"{"specversion":"1.0","type":"t","source":"\#(source)","id":"\#(id)","data":\#(data)}"#
        }
        let body = [event("/a", "1", 1), event("/b", "1", 2), event("/a", "1", 3), event("/a", "2", 4)]
        let events = try CloudEvents.decode(request("[\(body.joined(separator: ","))]", [CloudEvents.jsonBatch]))
        #expect(events.map { String(decoding: $0.payload, as: UTF8.self) } == [body[0], body[1], body[3]])
        // Two spellings of one character are two ids.
        let accents = "[\(event("/a", "\u{E9}", 1)),\(event("/a", "e\u{301}", 2))]"
        #expect(try CloudEvents.decode(request(accents, [CloudEvents.jsonBatch])).count == 2)
    }

    @Test func anEmptyBatchIsAnsweredAtOnce() throws {
        let decoding = try CloudEventsSource().decode(request(" [ ] ", [CloudEvents.jsonBatch]))
        #expect(decoding == .answer(SourceResponse(status: 204)))
    }

    @Test func aFaultInABatchRefusesItWithItsPlace() {
        let bad = CloudEvents.batch.replacing("\"id\" : \"C234-1234-1234\"", with: "\"x\" : 1")
        let error = CloudEvents.refusal(request(bad, [CloudEvents.jsonBatch]))
        #expect(error?.code == "missing-attribute")
        #expect(error?.offset == bad.utf8.count - bad.split(separator: "},")[1].utf8.count + 3)
        #expect(CloudEvents.refusal(request("{}", [CloudEvents.jsonBatch]))?.code == "batch-not-an-array")
        #expect(CloudEvents.refusal(request("[1]", [CloudEvents.jsonBatch]))?.code == "event-not-an-object")
        #expect(CloudEvents.refusal(request("[{]", [CloudEvents.jsonBatch]))?.code == "json-unexpected-byte")
    }

    @Test func aBinaryEventIsItsDataWithAttributesInHeaders() throws {
        let body = [UInt8]([0x00, 0xFF, 0x7B])
        let thrift = (name: "content-type", value: "application/vnd.apache.thrift.binary")
        let events = try CloudEvents.decode(request(body, CloudEvents.headers + [thrift]))
        let expected = SourceEvent(
            type: "com.example.someevent", contentID: ContentID(unchecked: "orders/42"), payload: body,
            contentType: "application/vnd.apache.thrift.binary",
            dedupeKeys: ["cloudevents:21:/mycontext/subcontext:1234-1234-1234"],
            attributes: CloudEvents.headers.map { .init(String($0.name.dropFirst(3)), $0.value) } + [
                .init("datacontenttype", "application/vnd.apache.thrift.binary")
            ])
        #expect(events == [expected])
    }

    /// The data stands within the signed JSON of a webhook, which it must not be able to end.
    @Test func jsonDataOfBinaryModeIsChecked() throws {
        let json = CloudEvents.headers + [(name: "content-type", value: "application/json; charset=utf-8")]
        for body in ["1", "null", #" {"a":[1.0]} "#, #""text""#] {
            #expect(try CloudEvents.decode(request(body, json))[0].payload == Array(body.utf8))
        }
        for body in [#"0},"type":"forged","data":{"x":1}"#, #"{"a":"#, "\u{FEFF}{}", #"{"a":1,"a":2}"#, " "] {
            #expect(CloudEvents.refusal(request(body, json))?.code.hasPrefix("json-") == true, "\(body)")
        }
        let empty = try CloudEvents.decode(request("", json))[0]
        #expect(empty.contentType == "application/octet-stream" && empty.payload.isEmpty)
    }

    @Test func binaryModeNeedsNoContentType() throws {
        let event = try CloudEvents.decode(request("", CloudEvents.headers))[0]
        #expect(event.contentType == "application/octet-stream")
        #expect(!event.attributes.contains { $0.name == "datacontenttype" })
    }

    @Test(
        arguments: [
            "application/cloudevents+json", "Application/CloudEvents+JSON",
            "application/cloudevents+json ;charset=utf-8",
        ])
    func theContentTypeChoosesTheMode(type: String) throws {
        // In structured mode the headers of binary mode may be there as well.
        let fields = [(name: "content-type", value: type)] + CloudEvents.headers
        #expect(try CloudEvents.decode(request(CloudEvents.base64, fields))[0].attributes.count == 4)
    }

    @Test(
        arguments: [
            "application/cloudevents+avro", "application/cloudevents+protobuf", "application/cloudevents",
            "application/cloudevents-batch", "application/cloudevents-batch+protobuf", "application/cloudeventsx",
        ])
    func otherFormatsAreRefused(type: String) {
        let error = CloudEvents.refusal(request("x", CloudEvents.headers + [(name: "content-type", value: type)]))
        #expect(error?.code == "unsupported-event-format")
        #expect(error?.kind == .unprocessable)
        #expect(error?.message.contains("application/cloudevents+json") == true)
    }

    @Test func otherRequestsAreNoCloudEvents() {
        #expect(CloudEvents.refusal(request("{}", [CloudEvents.data]))?.code == "not-a-cloudevent")
        #expect(CloudEvents.refusal(request(CloudEvents.structured))?.code == "not-a-cloudevent")
        #expect(CloudEvents.refusal(request("[]", [CloudEvents.json]))?.code == "event-not-an-object")
        #expect(CloudEvents.refusal(request("", [CloudEvents.json]))?.code == "json-unexpected-end")
    }

    @Test func theSourceConforms() {
        let events = [
            request(CloudEvents.structured, [CloudEvents.json]), request(CloudEvents.base64, [CloudEvents.json]),
            request(
                #"{"a": 1}"#,
                CloudEvents.headers + [CloudEvents.data, (name: "webhook-request-origin", value: "sender.example.com")]),
        ]
        #expect(PayloadSourceSuite.violations(of: CloudEventsSource(), accepting: events, seed: 11) == [])
        let batches = [request(CloudEvents.batch, [CloudEvents.jsonBatch]), request("[]", [CloudEvents.jsonBatch])]
        #expect(
            PayloadSourceSuite.violations(of: CloudEventsSource(), accepting: batches, keepsBody: false, seed: 12) == []
        )
    }

    @Test func templatesReachAttributesInEveryMode() throws {
        let template = try PayloadTemplate("ce://{attribute.source:segment}/{data.id|id}")
        let structured = CloudEvents.event(#""data": {"id": 7}"#)
        let binary = request(
            #"{"id": 7}"#,
            [("ce-specversion", "1.0"), ("ce-type", "t"), ("ce-source", "/s"), ("ce-id", "1"), CloudEvents.data])
        for request in [structured, binary] {
            let scope = TemplateScope(request, try CloudEvents.decode(request)[0])
            #expect(template.evaluate(scope) == .text("ce://%2Fs/7"))
        }
    }
}
