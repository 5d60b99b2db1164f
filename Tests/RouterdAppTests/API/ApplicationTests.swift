import HTTPTypes
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

@Suite("Applications", .longest)
struct ApplicationTests {
    private static let whole = """
        {"displayName": "Gallery",
         "manifest": {"supportsMultipleScenes": true, "userActivityTypes": ["a.b"],
           "sceneConfigurations": [{"name": "Main", "role": "windowApplication", "activityTypes": ["a.b"],
             "endpoint": {"url": "http://127.0.0.1:9/scenes"}}]},
         "delegate": {"url": "http://127.0.0.1:9/delegate"},
         "routing": {"prefersRequiresCan": true},
         "delivery": {"timeoutSeconds": 3, "maxInFlightPerSession": 2, "retrySchedule": [1, 2],
                      "statuses": {"5xx": "wait", "404": "retry"}, "reroute": {"onExhausted": true},
                      "weight": 3, "headOfLine": {"policy": "skip", "afterAttempts": 4}}}
        """

    private static let gated = """
        {"manifest": {"supportsMultipleScenes": false,
           "sceneConfigurations": [{"name": "Demo", "endpoint": {"stream": true}},
             {"name": "Main", "endpoint": {"url": "http://127.0.0.1:9/scenes", "format": "routerd.format.raw",
               "signingKeys": [{"secret": "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX", "notBefore": "2020-01-01T00:00:00Z"}]}}]},
         "gates": {"onboarding": {"prompts": {"de": {"title": "Willkommen"}}, "closesWithLastScene": true},
                   "passcode": {"minLength": 4, "retryLimit": 3}}}
        """

    @Test func isCreatedThenReplaced() async throws {
        try await withDaemon { daemon in
            let created = try await daemon.putGallery(Self.whole)
            #expect(created.status == 201)
            #expect(created.id == "com.example.gallery")
            let replaced = try await daemon.putGallery(#"{"displayName":"Other"}"#)
            #expect(replaced.status == 200)
            let read = try await daemon.call(.get, TestDaemon.gallery)
            #expect(read.status == 200)
            #expect(read["displayName"] == "Other")
            #expect(read["manifest", "sceneConfigurations"] == [])
            #expect(read["delegate"] == .null)
        }
    }

    @Test func isReadAsItWasPut() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery(Self.whole)
            let read = try await daemon.call(.get, TestDaemon.gallery)
            let keys: JSONValue = [["version": "v1"]]
            let expected: JSONValue = [
                "id": "com.example.gallery", "displayName": "Gallery", "activationState": "unattached",
                "currentSession": .null, "onboardingSession": .null,
                "manifest": [
                    "supportsMultipleScenes": true, "userActivityTypes": ["a.b"],
                    "sceneConfigurations": [
                        [
                            "name": "Main", "role": "windowApplication",
                            "endpoint": ["url": "http://127.0.0.1:9/scenes", "signingKeys": keys],
                            "activityTypes": ["a.b"],
                        ]
                    ],
                ],
                "delegate": ["url": "http://127.0.0.1:9/delegate", "signingKeys": keys],
                "routing": ["prefersRequiresCan": true, "requireContentId": false, "broadcasts": false],
                "delivery": [
                    "timeoutSeconds": 3, "maxInFlightPerSession": 2, "retrySchedule": [1, 2],
                    "statuses": ["404": "retry", "5xx": "wait"],
                    "reroute": ["onExhausted": true, "onTimeout": false], "weight": 3,
                    "headOfLine": ["policy": "skip", "afterAttempts": 4], "lifeCycleEvents": true,
                ],
            ]
            #expect(read.json == expected)
        }
    }

    @Test("The document that a read shows can be put back whole, and changes nothing", arguments: [whole, "{}", gated])
    func isPutAsItWasRead(body: String) async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery(body)
            for query in ["", "?device=hall"] {
                let read = try await daemon.call(.get, TestDaemon.gallery + query)
                let put = try await daemon.putGallery(read.text)
                #expect(put.status == 200, "\(put.text)")
                #expect(!put.text.contains("whsec_"), "the keys stay")
                #expect(try await daemon.call(.get, TestDaemon.gallery + query).json == read.json)
            }
        }
    }

    @Test("Keys that stand in a put as they were read must still be those of the endpoint")
    func keysThatHaveChanged() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery(Self.whole)
            let read = try await daemon.call(.get, TestDaemon.gallery)
            let path = "\(TestDaemon.gallery)/sceneConfigurations/Main/endpoint/rotate-secret"
            #expect(try await daemon.call(.post, path, #"{"overlapSeconds":600}"#).status == 200)
            expectProblem(try await daemon.putGallery(read.text), 409, "signing-keys-changed")
            let again = try await daemon.call(.get, TestDaemon.gallery)
            let moved = again.text.replacing("/delegate", with: "/elsewhere")
            expectProblem(try await daemon.putGallery(moved), 409, "signing-keys-changed")
            #expect(try await daemon.putGallery(again.text).status == 200)
        }
    }

    @Test func isNotPutUnderAnotherName() async throws {
        try await withDaemon { daemon in
            let answer = try await daemon.putGallery(#"{"id":"com.example.other"}"#)
            expectProblem(answer, 422, "invalid-field")
            #expect(answer["pointer"] == "/id")
            expectProblem(try await daemon.putGallery(#"{"deleting":true}"#), 400, "unknown-field")
        }
    }

    @Test func hasDefaults() async throws {
        try await withDaemon { daemon in
            let created = try await daemon.putGallery("{}")
            #expect(created.status == 201)
            #expect(created["manifest", "supportsMultipleScenes"] == .null)
            #expect(created["routing", "prefersRequiresCan"] == false)
            #expect(created["delivery", "timeoutSeconds"] == 15)
            #expect(created["delivery", "maxInFlightPerSession"] == 1)
            #expect(created["delivery", "weight"] == 1 && created["delivery", "headOfLine"] == ["policy": "block"])
            #expect(
                created["delivery", "retrySchedule"] == [5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400])
        }
    }

    @Test func secretIsMadeAndReturnedOnceAndKeptOnReplace() async throws {
        try await withReceiver { receiver in
            try await withDaemon { daemon in
                let body =
                    #"{"delegate":{"url":"http://127.0.0.1:9/d"},"manifest":{"sceneConfigurations":["#
                    + #"{"name":"Main","endpoint":{"url":"\#(receiver.url())"}}]}}"#
                let created = try await daemon.putGallery(body)
                let delegate = try #require(created["delegate", "secret"].asString)
                let configuration = created["manifest", "sceneConfigurations"].asArray?.first
                let secret = try #require(configuration?.at("endpoint", "secret").asString)
                #expect(secret.hasPrefix("whsec_") && secret != delegate)

                let replaced = try await daemon.putGallery(body)
                #expect(replaced.status == 200)
                #expect(!replaced.text.contains("whsec_"), "shown once only")
                #expect(!(try await daemon.call(.get, TestDaemon.gallery)).text.contains("whsec_"))
                #expect(!(try await daemon.call(.get, "/v1/applications")).text.contains("whsec_"))

                // The secret shown the first time still signs.
                try receiver.trust(secret)
                #expect(try await daemon.call(.put, "\(TestDaemon.gallery)/sessions/win-1", "{}").status == 201)
                try await daemon.post(about: "photo/1")
                #expect(try await receiver.webhooks(1).first?.isVerified == true)
            }
        }
    }

    @Test("An application with much that waits is deleted in steps; its name is free at the end")
    func isDeletedInSteps() async throws {
        try await withDaemon { daemon in
            let endpoint = #"{"endpoint":{"url":"http://127.0.0.1:9/"}}"#
            try await daemon.putGallery(#"{"displayName":"Large"}"#)
            #expect(try await daemon.call(.put, "\(TestDaemon.gallery)/sessions/win-1", endpoint).status == 201)
            let lines = [String](repeating: "{}", count: 3000).joined(separator: "\n")
            #expect(try await daemon.call(.post, "\(TestDaemon.gallery)/notifications:batch", lines).status == 200)

            let begun = try await daemon.call(.delete, TestDaemon.gallery)
            #expect(begun.status == 202 && begun["deleting"] == true && begun["displayName"] == "Large")
            #expect(begun["activationState"] == .null)
            var put = try await daemon.putGallery("{}")
            while put.status == 409 {
                expectProblem(put, 409, "application-deleting")
                let shown = try await daemon.call(.get, TestDaemon.gallery)
                #expect(shown.status == 404 || shown["deleting"] == true)
                let listed = try await daemon.call(.get, "/v1/applications")
                #expect(listed["applications"].asArray?.allSatisfy { $0.at("deleting") == true } == true)
                put = try await daemon.putGallery("{}")
            }
            #expect(put.status == 201)
            let ended = try await daemon.call(.get, "/v1/notifications?state=deadLettered&limit=1")
            #expect(ended["notifications"].asArray?.first?.at("reason") == "application-deleted")
            #expect(try await daemon.call(.delete, TestDaemon.gallery).status == 204)
        }
    }

    @Test func suppliedSecretIsNeverShown() async throws {
        try await withDaemon { daemon in
            let body = #"{"delegate":{"url":"http://127.0.0.1:9/d","secret":"\#(Receiver.secret)"}}"#
            let created = try await daemon.putGallery(body)
            #expect(created.status == 201)
            #expect(created["delegate", "url"] == "http://127.0.0.1:9/d")
            for answer in [created, try await daemon.call(.get, TestDaemon.gallery)] {
                #expect(!answer.text.contains("secret"))
            }
        }
    }

    @Test func anotherURLGetsAnotherSecret() async throws {
        try await withDaemon { daemon in
            let first = try await daemon.putGallery(#"{"delegate":{"url":"http://127.0.0.1:9/a"}}"#)
            let second = try await daemon.putGallery(#"{"delegate":{"url":"http://127.0.0.1:9/b"}}"#)
            #expect(second["delegate", "secret"].asString?.hasPrefix("whsec_") == true)
            #expect(first["delegate", "secret"] != second["delegate", "secret"])
        }
    }

    @Test func deletingTakesItsSessionsAndEndsWhatWaits() async throws {
        try await withGallery { daemon, receiver in
            receiver.hold()
            try await daemon.putSession("win-1", at: receiver.url())
            let first = try await daemon.post(about: "a")
            let second = try await daemon.post(about: "b")
            try await receiver.webhooks(1)
            #expect(try await daemon.call(.delete, TestDaemon.gallery).status == 204)
            expectProblem(try await daemon.call(.get, TestDaemon.gallery), 404, "unknown-application")
            expectProblem(try await daemon.call(.delete, TestDaemon.gallery), 404, "unknown-application")
            expectProblem(try await daemon.session("win-1"), 404, "unknown-application")
            let waiting = try await daemon.settled(second.id)
            #expect(waiting["state"] == "deadLettered" && waiting["reason"] == "application-deleted")
            // The attempt under way may have arrived, and it has: the notification shows it.
            receiver.release()
            #expect(try await daemon.settled(first.id)["state"] == "delivered")
            // An application with the same name brings none of it back.
            try await daemon.putGallery()
            #expect(try await daemon.call(.get, "\(TestDaemon.gallery)/sessions").ids("sessions").isEmpty)
        }
    }

    @Test func configurationThatSessionsNeedStays() async throws {
        try await withDaemon { daemon in
            let manifest =
                #"{"manifest":{"sceneConfigurations":"#
                + #"[{"name":"Main","endpoint":{"url":"http://127.0.0.1:9/"}}]}}"#
            try await daemon.putGallery(manifest)
            #expect(try await daemon.call(.put, "\(TestDaemon.gallery)/sessions/win-1", "{}").status == 201)
            expectProblem(try await daemon.putGallery(#"{"displayName":"x"}"#), 409, "configuration-in-use")
            #expect(try await daemon.call(.get, TestDaemon.gallery)["displayName"] == "")
        }
    }

    @Test(arguments: [1, 2, 3, 7, 50])
    func listIsPagedWithoutGapOrRepeat(limit: Int) async throws {
        try await withDaemon { daemon in
            let names = ["b", "a.z", "a", "Z", "c_d", "c-d", "0"]
            for name in names { #expect(try await daemon.call(.put, "/v1/applications/\(name)", "{}").status == 201) }
            var seen: [String] = []
            var cursor = ""
            repeat {
                let page = try await daemon.call(.get, "/v1/applications?limit=\(limit)\(cursor)")
                #expect(page.status == 200)
                #expect((1...limit).contains(page.ids("applications").count))
                seen += page.ids("applications")
                cursor = page["cursor"].asString.map { "&cursor=\($0)" } ?? ""
            } while !cursor.isEmpty && seen.count <= names.count
            #expect(seen == names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        }
    }
}
