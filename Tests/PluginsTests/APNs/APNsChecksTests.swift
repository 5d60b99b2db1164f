import Plugins
import RouterPlugin
import Testing

@Suite("APNs: the checks")
struct APNsChecksTests {
    private func refusal(_ change: (inout SamplePush) -> Void) throws -> String? {
        var push = try SamplePush()
        change(&push)
        return push.refusal(by: APNsChecks(tokens: try Provider.check()))
    }

    @Test("A push in order is taken, with all that it says")
    func inOrder() throws {
        var sample = try SamplePush()
        sample.set("apns-priority", "5")
        sample.set("apns-expiration", "1767272400")
        sample.set("apns-collapse-id", "c")
        let push = try sample.checked(by: APNsChecks(tokens: try Provider.check()))
        #expect(push.head.application == ApplicationID(unchecked: "com.example.Gallery"))
        #expect(push.head.token.hasPrefix("00fc13") && push.head.pushType == .alert)
        #expect(push.event.contentID?.text == "photo/1" && push.event.payload == sample.body)
        #expect(push.event.priority == .normal && push.event.collapseID == "c")
        #expect(push.event.expiration == .at(Timestamp(milliseconds: 1_767_272_400_000)))
        #expect(push.event.dedupeKeys == ["apns-id:123e4567-e89b-12d3-a456-4266554400a0"])
    }

    @Test("Each fault has its status and reason")
    func faults() throws {
        #expect(try refusal { $0.method = "GET" } == "405 MethodNotAllowed")
        for path in ["/", "/3/devices/ab", "/4/device/ab", "/3/device/ab/cd", "3/device/ab", ""] {
            #expect(try refusal { $0.path = path } == "404 BadPath", "\(path)")
        }
        for path in ["/3/device", "/3/device/"] {
            #expect(try refusal { $0.path = path } == "400 MissingDeviceToken", "\(path)")
        }
        #expect(try refusal { $0.headers.append(("apns-topic", "com.example.Gallery")) } == "400 DuplicateHeaders")
        #expect(try refusal { $0.headers.append(("authorization", "bearer x")) } == "400 DuplicateHeaders")
        #expect(try refusal { $0.set("authorization", nil) } == "403 MissingProviderToken")
        for id in ["", "1", "123e4567-e89b-12d3-a456-4266554400ag", "123e4567e89b12d3a4564266554400a0"] {
            #expect(try refusal { $0.set("apns-id", id) } == "400 BadMessageId", "\(id)")
        }
        for type in ["", "Alert", "banner"] {
            #expect(try refusal { $0.set("apns-push-type", type) } == "400 InvalidPushType", "\(type)")
        }
        for priority in ["", "0", "4", "10.0", "high"] {
            #expect(try refusal { $0.set("apns-priority", priority) } == "400 BadPriority", "\(priority)")
        }
        for date in ["", "-1", "tomorrow", "1.5", "99999999999999999999"] {
            #expect(try refusal { $0.set("apns-expiration", date) } == "400 BadExpirationDate", "\(date)")
        }
        let long = String(repeating: "c", count: 65)
        for id in ["", long] { #expect(try refusal { $0.set("apns-collapse-id", id) } == "400 BadCollapseId") }
        for topic in [nil, ""] { #expect(try refusal { $0.set("apns-topic", topic) } == "400 MissingTopic") }
        #expect(try refusal { $0.set("apns-topic", "no bundle id") } == "400 BadTopic")
        #expect(try refusal { $0.body = [] } == "400 PayloadEmpty")
        for token in ["abc", "abcdef", "zz34567890", "ab%20cdef", String(repeating: "ab", count: 101)] {
            #expect(try refusal { $0.path = "/3/device/\(token)" } == "400 BadDeviceToken", "\(token)")
        }
        for body in ["[]", "1", "{", #"{"aps":{"target-content-id":1}}"#, #"{"a":1,"a":2}"#] {
            #expect(try refusal { $0.body = Array(body.utf8) } == "400 BadPayload", "\(body)")
        }
    }

    @Test("Of two faults the earlier one in the order of checks is told")
    func order() throws {
        // Each step adds a fault of an earlier check, and its reason is the one that is told.
        let steps: [(String, (inout SamplePush) -> Void)] = [
            ("400 BadPayload", { $0.body = Array("[]".utf8) }),
            ("400 BadDeviceToken", { $0.path = "/3/device/xyz" }),
            ("413 PayloadTooLarge", { $0.body = Array(repeating: 0x20, count: 4097) }),
            ("400 BadTopic", { $0.set("apns-topic", "no bundle id") }),
            ("400 BadCollapseId", { $0.set("apns-collapse-id", "") }),
            ("400 BadExpirationDate", { $0.set("apns-expiration", "x") }),
            ("400 BadPriority", { $0.set("apns-priority", "7") }),
            ("400 InvalidPushType", { $0.set("apns-push-type", "x") }),
            ("400 BadMessageId", { $0.set("apns-id", "x") }),
            ("403 MissingProviderToken", { $0.set("authorization", nil) }),
            ("400 DuplicateHeaders", { $0.headers += [("apns-priority", "5")] }),
            ("400 MissingDeviceToken", { $0.path = "/3/device/" }),
            ("404 BadPath", { $0.path = "/" }),
            ("405 MethodNotAllowed", { $0.method = "PUT" }),
        ]
        var push = try SamplePush()
        let checks = APNsChecks(tokens: try Provider.check())
        for (reason, change) in steps {
            change(&push)
            #expect(push.refusal(by: checks) == reason)
        }
    }

    @Test(
        "Topics end as their push types have it",
        arguments: [
            ("alert", ""), ("background", ""), ("mdm", ""), ("location", ".location-query"), ("voip", ".voip"),
            ("complication", ".complication"), ("fileprovider", ".pushkit.fileprovider"),
            ("liveactivity", ".push-type.liveactivity"), ("pushtotalk", ".voip-ptt"), ("widgets", ".push-type.widgets"),
            ("controls", ".push-type.controls"),
        ])
    func suffixes(type: String, suffix: String) throws {
        var sample = try SamplePush()
        sample.set("apns-push-type", type)
        sample.set("apns-topic", "com.example.Gallery\(suffix)")
        let checks = APNsChecks(tokens: try Provider.check())
        #expect(try sample.checked(by: checks).head.application == ApplicationID(unchecked: "com.example.Gallery"))
        // Without the header the topic says the type.
        sample.set("apns-push-type", nil)
        let implied = try sample.checked(by: checks).head
        #expect(implied.application == ApplicationID(unchecked: "com.example.Gallery"))
        #expect(implied.pushType.rawValue == (suffix.isEmpty ? "alert" : type))
        if !suffix.isEmpty {
            sample.set("apns-push-type", type)
            for topic in ["com.example.Gallery", suffix] {
                sample.set("apns-topic", topic)
                #expect(sample.refusal(by: checks) == "400 BadTopic")
            }
        }
        #expect(Set(APNsPushType.allCases.map(\.rawValue)).contains(type))
    }

    @Test("Apple takes no push of another type under the topic of a suffix; an application may have such an id")
    func typesOfSuffixes() throws {
        let tokens = try Provider.check()
        var sample = try SamplePush()
        for type in ["alert", "background", "mdm"] {
            for suffix in APNsPushType.allCases.compactMap(\.topicSuffix) {
                sample.set("apns-push-type", type)
                sample.set("apns-topic", "com.example.Gallery\(suffix)")
                #expect(sample.refusal(by: APNsChecks(tokens: tokens, keepsSuffixes: true)) == "400 InvalidPushType")
                #expect(sample.refusal(by: APNsChecks(tokens: tokens)) == nil)
            }
            sample.set("apns-topic", "com.example.Gallery")
            #expect(sample.refusal(by: APNsChecks(tokens: tokens, keepsSuffixes: true)) == nil)
        }
        sample.set("apns-push-type", nil)
        sample.set("apns-topic", "com.example.Gallery.voip")
        #expect(sample.refusal(by: APNsChecks(tokens: tokens, keepsSuffixes: true)) == nil)
    }

    @Test("Background pushes have priority 5 unless they say 1, and no other has to")
    func priorities() throws {
        let checks = APNsChecks(tokens: try Provider.check())
        func priority(_ type: String, _ value: String?) throws -> Priority {
            var sample = try SamplePush()
            sample.set("apns-push-type", type)
            sample.set("apns-priority", value)
            let push = try sample.checked(by: checks)
            #expect(push.event.priority == push.head.priority)
            return push.head.priority
        }
        #expect(try priority("alert", nil) == .high && priority("alert", "1") == .low)
        #expect(try priority("background", nil) == .normal && priority("background", "1") == .low)
        #expect(
            try refusal {
                $0.set("apns-push-type", "background")
                $0.set("apns-priority", "10")
            } == "400 BadPriority")
    }

    @Test("A payload has 4096 bytes at most, of VoIP pushes 5120")
    func sizes() throws {
        func refusal(_ type: String, _ topic: String, _ size: Int) throws -> String? {
            try self.refusal {
                $0.set("apns-push-type", type)
                $0.set("apns-topic", topic)
                $0.body = Array(#"{"a":""#.utf8) + Array(repeating: 0x61, count: size - 8) + Array(#""}"#.utf8)
            }
        }
        #expect(try refusal("alert", "com.example.Gallery", 4096) == nil)
        #expect(try refusal("alert", "com.example.Gallery", 4097) == "413 PayloadTooLarge")
        #expect(try refusal("voip", "com.example.Gallery.voip", 5120) == nil)
        #expect(try refusal("voip", "com.example.Gallery.voip", 5121) == "413 PayloadTooLarge")
    }

    @Test("The length that a head declares counts before the body has come")
    func declaredLength() throws {
        let sample = try SamplePush()
        var last: VerifiedProviderToken?
        let request = APNsRequest(
            method: sample.method, path: sample.path, headers: sample.headers + [("content-length", "9000")])
        let checks = APNsChecks(tokens: try Provider.check())
        let head = try checks.head(of: request, certificateTopic: nil, at: noon, last: &last)
        let refusal = #expect(throws: APNsRefusal.self) {
            try APNsPush(head, body: [], length: request.declaredLength ?? 0)
        }
        #expect(refusal?.reason == "PayloadTooLarge")
    }

    @Test("A table names applications of whole topics, then of bundle ids; other topics are bundle ids")
    func topics() throws {
        let checks = APNsChecks(
            tokens: try Provider.check(),
            topics: APNsTopics([
                ("com.example.Gallery", ApplicationID(unchecked: "gallery")),
                ("com.example.Gallery.voip", ApplicationID(unchecked: "calls")),
            ]))
        func application(_ type: String, _ topic: String) throws -> String {
            var sample = try SamplePush()
            sample.set("apns-push-type", type)
            sample.set("apns-topic", topic)
            return try sample.checked(by: checks).head.application.text
        }
        #expect(try application("alert", "com.example.Gallery") == "gallery")
        #expect(try application("voip", "com.example.Gallery.voip") == "calls")
        #expect(try application("complication", "com.example.Gallery.complication") == "gallery")
        #expect(try application("alert", "com.example.Mail") == "com.example.Mail")
    }

    @Test("A key for some topics is not for others, with any push type")
    func allowedTopics() throws {
        let checks = APNsChecks(tokens: try Provider.check(.topics(["com.example.Gallery"])))
        var sample = try SamplePush()
        #expect(sample.refusal(by: checks) == nil)
        sample.set("apns-topic", "com.example.Mail")
        #expect(sample.refusal(by: checks) == "400 TopicDisallowed")
        sample.set("apns-push-type", "voip")
        sample.set("apns-topic", "com.example.Gallery.voip")
        #expect(sample.refusal(by: checks) == nil)
    }

    @Test("A certificate stands for a token, names the topic, and is for that topic")
    func certificate() throws {
        let checks = APNsChecks(tokens: try Provider.check())
        var sample = try SamplePush()
        sample.certificateTopic = "com.example.Gallery"
        sample.set("authorization", nil)
        #expect(sample.refusal(by: checks) == nil)
        sample.set("apns-topic", nil)
        #expect(try sample.checked(by: checks).head.topic == "com.example.Gallery")
        sample.set("apns-push-type", "voip")
        #expect(try sample.checked(by: checks).head.topic == "com.example.Gallery.voip")
        sample.set("apns-topic", "com.example.Mail.voip")
        #expect(sample.refusal(by: checks) == "400 TopicDisallowed")
    }

    @Test("The answer has the apns-id byte for byte, or a fresh one")
    func messageIDs() {
        func answered(_ values: String...) -> String {
            let headers = values.map { (name: "apns-id", value: $0) }
            return APNsRequest(method: "POST", path: "/", headers: headers).messageID(fresh: "fresh")
        }
        #expect(answered("123E4567-e89b-12d3-a456-4266554400a0") == "123E4567-e89b-12d3-a456-4266554400a0")
        #expect(answered() == "fresh" && answered("") == "fresh" && answered("a", "b") == "fresh")
        #expect(answered("order-1") == "order-1", "A client finds the refusal of a bad id by it.")
        #expect(answered("a b") == "fresh" && answered("ä") == "fresh")
    }

    @Test("Answers have APNs' form")
    func answers() {
        let taken = APNsVerdict.accepted(uniqueID: "ntf_1", session: "Fenster ä%").response(messageID: "m")
        #expect(taken.status == 200 && taken.body.isEmpty)
        #expect(
            taken.headers.map { "\($0.name): \($0.value)" } == [
                "apns-id: m", "apns-unique-id: ntf_1", "x-routerd-session: Fenster %C3%A4%25",
            ])
        let retired = APNsRefusal(.unregistered, "Gone.", timestamp: Timestamp(milliseconds: 1_767_268_800_123))
        let refused = APNsVerdict.refused(retired).response(messageID: "m")
        #expect(refused.status == 410)
        #expect(
            String(decoding: refused.body, as: UTF8.self) == #"{"reason":"Unregistered","timestamp":1767268800123}"#)
        #expect(refused.headers.contains(.init("apns-id", "m")))
        #expect(refused.headers.contains(.init("x-routerd-detail", "Gone.")))
    }

    @Test("Every reason has the status that Apple lists")
    func statuses() {
        let byStatus = Dictionary(grouping: APNsReason.allCases, by: \.status).mapValues { $0.map(\.rawValue).sorted() }
        #expect(byStatus[404] == ["BadPath"] && byStatus[405] == ["MethodNotAllowed"])
        #expect(byStatus[410] == ["ExpiredToken", "Unregistered"] && byStatus[413] == ["PayloadTooLarge"])
        #expect(byStatus[429] == ["TooManyProviderTokenUpdates", "TooManyRequests"])
        #expect(byStatus[500] == ["InternalServerError"] && byStatus[503] == ["ServiceUnavailable", "Shutdown"])
        #expect(byStatus[403]?.count == 8 && byStatus[400]?.count == 15)
    }
}
