import RouterPlugin
import Testing

@testable import Plugins

struct AlertmanagerSourceTests {
    private let source = AlertmanagerSource()

    /// The form of prometheus.io, "webhook_config".
    static let group = """
        {"version":"4","groupKey":"{}:{alertname=\\"Disk\\"}","truncatedAlerts":0,"status":"firing","receiver":"hook",
         "groupLabels":{"alertname":"Disk"},"commonLabels":{"alertname":"Disk"},"commonAnnotations":{},
         "externalURL":"http://am:9093","alerts":[
          {"status":"firing","labels":{"alertname":"Disk","instance":"a"},"annotations":{"used":"91%"},
           "startsAt":"2026-01-01T10:00:00.5Z","endsAt":"0001-01-01T00:00:00Z","generatorURL":"http://p/1",
           "fingerprint":"c1"},
          {"status":"resolved","labels":{"alertname":"Disk","instance":"b"},"annotations":{},
           "startsAt":"2026-01-01T09:00:00Z","endsAt":"2026-01-01T11:00:00Z","generatorURL":"http://p/2",
           "fingerprint":"c2"}]}
        """

    @Test func eachAlertIsAnEvent() throws {
        let decoding = try source.decode(request(Self.group))
        #expect(decoding.response == nil)
        try #require(decoding.events.count == 2)
        let rest = """
            "receiver":"hook","status":"firing","groupKey":"{}:{alertname=\\"Disk\\"}",\
            "groupLabels":{"alertname":"Disk"},"commonLabels":{"alertname":"Disk"},"commonAnnotations":{},\
            "externalURL":"http://am:9093"}
            """
        let (first, second) = (decoding.events[0], decoding.events[1])
        #expect(
            text(first.payload) == """
                {"alert":{"status":"firing","labels":{"alertname":"Disk","instance":"a"},"annotations":{"used":"91%"},\
                "startsAt":"2026-01-01T10:00:00.5Z","endsAt":"0001-01-01T00:00:00Z","generatorURL":"http://p/1",\
                "fingerprint":"c1"},
                """ + rest)
        #expect(text(second.payload).hasSuffix("\"fingerprint\":\"c2\"}," + rest))
        #expect(first.type == "firing" && second.type == "resolved")
        #expect(first.collapseID == "c1" && second.collapseID == "c2")
        #expect(first.dedupeKeys == ["alert:c1:firing:2026-01-01T10:00:00.5Z"])
        #expect(first.releasedKeys == ["alert:c1:resolved:2026-01-01T10:00:00.5Z"])
        #expect(second.dedupeKeys == ["alert:c2:resolved:2026-01-01T09:00:00Z"])
        #expect(second.releasedKeys == ["alert:c2:firing:2026-01-01T09:00:00Z"])
        let template = TemplateText(try #require(source.defaults.contentID["*"]))
        #expect(template.filled(from: try JSONValue(parsing: second.payload)) == "alertmanager://Disk/c2")
        #expect(source.retryStatus == 503)
    }

    @Test(arguments: [
        ("\"4\"", "\"3\"", "unsupported-version"), ("\"4\"", "4", "unsupported-version"),
        ("\"alerts\":[", "\"alert\":[", "missing-field"),
        ("\"fingerprint\":\"c2\"", "\"fingerprint\":\"\"", "bad-alert"),
        ("\"fingerprint\":\"c2\"", "\"finger\":\"c2\"", "bad-alert"), ("\"resolved\"", "\"pending\"", "bad-alert"),
        ("\"startsAt\":\"2026-01-01T09:00:00Z\",", "", "bad-alert"),

        ("{\"status\":\"firing\"", "1,{\"status\":\"firing\"", "bad-alert"), ("}]}", "}]", "json-unexpected-end"),
    ])
    func otherGroupsAreRefused(text: String, replacement: String, code: String) throws {
        try #require(Self.group.contains(text))
        #expect(source.decodingRefusal(of: request(Self.group.replacing(text, with: replacement))) == code)
    }

    /// The alert began at 10:00:00.5. Notices within an hour are repetitions, and a resolved one frees the key of its hour.
    @Test func remindersAreByChoice() throws {
        let source = try AlertmanagerSource.kind.make(["remindAfterSeconds": 3600])
        func event(_ place: Int, after seconds: Int64) throws -> SourceEvent {
            let request = request(Self.group).received(afterMilliseconds: seconds * 1000)
            return try source.decode(request).events[place]
        }
        let start = "2026-01-01T10:00:00.5Z"
        #expect(try event(0, after: 0).dedupeKeys == ["alert:c1:firing:\(start):1"])
        #expect(try event(0, after: 1).dedupeKeys == ["alert:c1:firing:\(start):2"])
        #expect(try event(0, after: 3600).dedupeKeys == ["alert:c1:firing:\(start):2"])
        #expect(try event(0, after: 3601).dedupeKeys == ["alert:c1:firing:\(start):3"])
        #expect(try event(0, after: 3601).releasedKeys == ["alert:c1:resolved:\(start)"])
        #expect(try event(1, after: 0).dedupeKeys == ["alert:c2:resolved:2026-01-01T09:00:00Z"])
        #expect(try event(1, after: 0).releasedKeys == ["alert:c2:firing:2026-01-01T09:00:00Z:3"])
        for value in [9, 31_536_001, "1h", true] as [JSONValue] {
            #expect(throws: PluginConfigurationError.self) {
                try AlertmanagerSource.kind.make(["remindAfterSeconds": value])
            }
        }
    }

    @Test func anEmptyGroupIsRefused() {
        #expect(source.decodingRefusal(of: request(#"{"version":"4","alerts":[]}"#)) == "missing-field")
        #expect(source.decodingRefusal(of: request("[]")) == "payload-not-an-object")
    }

    private func group(alerts: Int, padding: Int) -> String {
        let alert = #"{"status":"firing","startsAt":"t","fingerprint":"f"}"#
        let all = Array(repeating: alert, count: alerts).joined(separator: ",")
        return #"{"version":"4","commonLabels":{"a":"\#(String(repeating: "x", count: padding))"},"alerts":[\#(all)]}"#
    }

    /// Each event repeats the members of the group, so a small request could ask for a lot of memory.
    @Test func copiesAreBounded() throws {
        #expect(try source.decode(request(group(alerts: 1000, padding: 10))).events.count == 1000)
        #expect(source.decodingRefusal(of: request(group(alerts: 1001, padding: 10))) == "too-many-alerts")
        #expect(try source.decode(request(group(alerts: 20, padding: 200_000))).events.count == 20)
        #expect(source.decodingRefusal(of: request(group(alerts: 21, padding: 200_000))) == "too-many-alerts")
    }

    @Test func credentialsAreTokenOrPassword() {
        let bearer = request("{}", [("authorization", "Bearer t0ken")])
        #expect(source.refusal(of: bearer, "user:pass", "t0ken") == nil)
        // RFC 7617, section 2.
        let basic = request("{}", [("authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")])
        #expect(source.refusal(of: basic, "t0ken", "Aladdin:open sesame") == nil)
        #expect(source.refusal(of: basic, "Aladdin:open") == "credentials-invalid")
        #expect(source.refusal(of: request("{}", [("authorization", "Digest x")]), "t0ken") == "signature-missing")
    }
}

struct GrafanaSourceTests {
    private func source(_ options: String = "{}") throws -> any PayloadSource {
        try GrafanaSource.kind.make(parsed(options))
    }

    /// The form of grafana.com, "Configure webhook notifications".
    private let group = """
        {"receiver":"hook","status":"resolved","alerts":[{"status":"resolved","labels":{"alertname":"Cpu"},
         "annotations":{},"startsAt":"2026-01-01T09:00:00Z","endsAt":"2026-01-01T10:00:00Z","fingerprint":"57c6",
         "dashboardURL":"http://g/d/1","panelURL":"http://g/d/1?viewPanel=2","silenceURL":"http://g/s",
         "values":{"B":44.23943737541908}}],"groupLabels":{},"commonLabels":{},"commonAnnotations":{},
         "externalURL":"http://g","version":"1","groupKey":"{}","truncatedAlerts":0,"orgId":1,"title":"Cpu is high",
         "state":"ok","message":"m"}
        """

    @Test func eachAlertIsAnEvent() throws {
        let source = try source()
        let events = try source.decode(request(group)).events
        try #require(events.count == 1)
        #expect(events[0].type == "resolved" && events[0].collapseID == "57c6")
        let payload = """
            {"alert":{"status":"resolved","labels":{"alertname":"Cpu"},"annotations":{},\
            "startsAt":"2026-01-01T09:00:00Z","endsAt":"2026-01-01T10:00:00Z","fingerprint":"57c6",\
            "dashboardURL":"http://g/d/1","panelURL":"http://g/d/1?viewPanel=2","silenceURL":"http://g/s",\
            "values":{"B":44.23943737541908}},"receiver":"hook","status":"resolved","orgId":1,"title":"Cpu is high",\
            "state":"ok","message":"m","groupKey":"{}","groupLabels":{},"commonLabels":{},"commonAnnotations":{},\
            "externalURL":"http://g"}
            """
        #expect(text(events[0].payload) == payload)
        let template = TemplateText(try #require(source.defaults.contentID["*"]))
        #expect(template.filled(from: try parsed(payload)) == "grafana://Cpu/57c6")
        #expect(source.retryStatus == 503)
    }

    @Test func aSignatureIsOfTheBody() throws {
        let source = try source()
        let signed = request(group, [("x-grafana-alerting-signature", hexadecimalCode(group, "key"))])
        #expect(source.refusal(of: signed, "new", "key") == nil)
        #expect(source.refusal(of: signed, "new") == "signature-invalid")
        // A token does not help a signature that is wrong.
        let both = request(group + " ", signed.headers + [("authorization", "Bearer key")])
        #expect(source.refusal(of: both, "key") == "signature-invalid")
        #expect(source.refusal(of: request(group, [("authorization", "Bearer key")]), "key") == nil)
        #expect(source.refusal(of: request(group), "key") == "signature-missing")
    }

    @Test func aSignatureMayHaveATimestamp() throws {
        let source = try source(#"{"header":"X-Sig","timestampHeader":"X-Time","toleranceSeconds":60}"#)
        // Computed with another implementation.
        let signature = "51fdfc397df5b7ed84120823daaed88a17565d3952de2a18b6e865f407e93441"
        let signed = SourceRequest(
            headers: [("x-sig", signature), ("x-time", "1614265330")], body: Array(#"{"alerts":[]}"#.utf8),
            receivedAt: Timestamp(milliseconds: 1_614_265_330_000))
        #expect(source.refusal(of: signed, "grafana-secret") == nil)
        #expect(
            source.refusal(of: signed.received(afterMilliseconds: 60_001), "grafana-secret")
                == "timestamp-outside-window")
        let bare = SourceRequest(headers: [signed.headers[0]], body: signed.body, receivedAt: signed.receivedAt)
        #expect(source.refusal(of: bare, "grafana-secret") == "signature-missing")
    }

    @Test(arguments: [
        (#"{"header":"a b"}"#, "/header"), (#"{"timestampHeader":""}"#, "/timestampHeader"),
        (#"{"toleranceSeconds":5}"#, "/toleranceSeconds"), (#"{"secret":"x"}"#, "/secret"),
    ])
    func optionsAreRefusedWithTheirPlace(options: String, pointer: String) {
        let error = #expect(throws: PluginConfigurationError.self) { try source(options) }
        #expect(error?.pointer == pointer)
    }
}
