import HTTPTypes
import Router
import RouterPlugin
import RouterdApp
import TestSupport
import Testing

@testable import DaemonTesting

/// The data of a person at a session, over HTTP: answers at a closed gate, and puts.
@Suite("Personal data", .longest)
struct PersonalDataTests {
    private static let path = "\(TestDaemon.gallery)/sessions/tab"
    private static let gated =
        #"{"gates":{"onboarding":{}},"manifest":{"userActivityTypes":["edit"]},"delivery":{"retrySchedule":[60]}}"#
    private static let tab = #""endpoint":{"stream":true},"device":"phone""#
    private static let data = #""userInfo":{"draft":"hush"},"stateRestorationActivity":{"activityType":"edit"}"#

    /// Opens the gate of the phone by its tab, for a person.
    private static func onboard(_ person: String, in daemon: TestDaemon) async throws {
        let gate = try await daemon.call(.post, "\(TestDaemon.gallery)/gate/open", #"{"session":"tab"}"#)
        let term = try #require(gate["term"].asInt64)
        let body = #"{"session":"tab","term":\#(term),"onboardingId":"\#(person)"}"#
        #expect(try await daemon.call(.post, "\(TestDaemon.gallery)/gate/succeed", body).status == 200)
    }

    /// Takes the deliveries that wait.
    private static func takeAll(in daemon: TestDaemon) async throws {
        while true {
            let taken = try await daemon.call(.get, "\(path)/deliveries?waitSeconds=0")
            guard taken.status == 200 else { return }
            for delivery in taken["deliveries"].asArray ?? [] {
                let id = try #require(delivery["id"]?.asString)
                let answer = try await daemon.call(.post, "\(path)/deliveries/\(id)/ack")
                try #require(answer.status == 204, "\(answer.text)")
            }
        }
    }

    @Test func noAnswerShowsItAtAClosedGate() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery(Self.gated)
            let put = try await daemon.call(.put, Self.path, "{\(Self.tab),\(Self.data)}")
            #expect(put.status == 201 && put["applicationScreen"] == "onboarding")
            let answers = [
                put, try await daemon.call(.get, Self.path), try await daemon.call(.patch, Self.path, "{}"),
                try await daemon.call(.put, Self.path, "{\(Self.tab)}"),
                try await daemon.call(.get, "\(TestDaemon.gallery)/sessions"),
                try await daemon.call(.post, "\(Self.path)/activate"),
                try await daemon.call(.post, "\(Self.path)/refresh"),
                try await daemon.call(.post, "\(TestDaemon.gallery)/activations", #"{"session":"tab"}"#),
                try await daemon.call(
                    .post, "/v1/apply?dryRun=true",
                    #"{"kind":"Session","application":"com.example.gallery","id":"tab","spec":{\#(Self.tab),"userInfo":{}}}"#
                ),
                try await daemon.call(.post, "\(Self.path)/disconnect"),
            ]
            for answer in answers {
                #expect((200...202).contains(answer.status) && !answer.text.contains("hush"), "\(answer.text)")
                #expect(!answer.text.contains("userInfo") && !answer.text.contains("stateRestorationActivity"))
            }
            try await daemon.call(.patch, Self.path, #"{"activationState":"foregroundInactive"}"#)
            try await Self.onboard("alice", in: daemon)
            let shown = try await daemon.call(.get, Self.path)
            #expect(shown["userInfo"] == ["draft": "hush"] && shown["applicationScreen"] == "app")
            #expect(shown["stateRestorationActivity"] == ["activityType": "edit"])
        }
    }

    @Test func whatAPersonWasShownIsNotShownToTheNextOne() async throws {
        try await withDaemon(TestDaemon.Options(isLive: true)) { daemon in
            try await daemon.putGallery(Self.gated)
            try await daemon.call(.put, Self.path, #"{\#(Self.tab),"activationState":"foregroundActive"}"#)
            try await Self.onboard("alice", in: daemon)
            let posted = try await daemon.post(#"{"text":"for alice"}"#, query: "?device=phone")
            try await Self.takeAll(in: daemon)
            #expect(try await daemon.notification(posted.id)["state"] == "delivered")
            func past() async throws -> Answer {
                try await daemon.call(.get, "\(Self.path)/deliveries?after=0&limit=99")
            }
            #expect(try await past().text.contains("for alice"))
            try await daemon.call(.post, "\(TestDaemon.gallery)/gate/reset", #"{"device":"phone"}"#)
            let closed = try await past()
            #expect(!closed.text.contains("envelope") && closed["last"].asInt64 ?? 0 > 0)
            let late = try await daemon.call(.patch, Self.path, "{\(Self.data)}")
            expectProblem(late, 409, "reset-meanwhile")
            let term = try #require(
                try await daemon.call(.get, "\(TestDaemon.gallery)/gate?device=phone")["term"].asInt64)
            try await daemon.call(.post, "\(TestDaemon.gallery)/gate/succeed", #"{"session":"tab","term":\#(term)}"#)
            try await Self.onboard("bob", in: daemon)
            try await daemon.post(#"{"text":"for bob"}"#, query: "?device=phone")
            try await Self.takeAll(in: daemon)
            let open = try await past()
            #expect(!open.text.contains("for alice") && !open.text.contains("alice") && open.text.contains("for bob"))
        }
    }

    @Test func aPutHasAConditionAndAReadCanBePutBack() async throws {
        try await withDaemon { daemon in
            let manifest = #"{"sceneConfigurations":[{"name":"Main","endpoint":{"url":"http://127.0.0.1:9/main"}}]}"#
            try await daemon.putGallery(#"{"manifest":\#(manifest)}"#)
            let endpoints = [
                #""endpoint":{"stream":true}"#, #""endpoint":{"url":"http://127.0.0.1:9/own","format":"raw"}"#,
                #""configuration":"Main""#,
            ]
            for endpoint in endpoints {
                let path = "\(TestDaemon.gallery)/sessions/s\(endpoint.utf8.count)"
                let body =
                    #"{\#(endpoint),"userInfo":{"a":[1]},"device":"phone","leaseSeconds":60,"#
                    + #""activationState":"background","activationConditions":{"preferring":["x"]}}"#
                func put(_ body: String, _ headers: [String: String]) async throws -> Answer {
                    try await daemon.call(.put, path, body, headers: headers)
                }
                let made = try await put(body, ["if-none-match": "*"])
                #expect(made.status == 201, "\(made.text)")
                expectProblem(try await put("{}", ["if-none-match": "*"]), 412, "precondition-failed")
                let read = try await daemon.call(.get, path)
                let tag = try #require(read.headers[.eTag])
                #expect(tag == made.headers[.eTag])
                let back = try await put(read.text, ["if-match": tag])
                #expect(back.status == 200, "\(back.text)")
                let again = try await daemon.call(.get, path)
                var (left, right) = (read.json.asObject ?? JSONObject(), again.json.asObject ?? JSONObject())
                (left["leaseExpiresAt"], right["leaseExpiresAt"]) = (nil, nil)
                #expect(left == right && again.headers[.eTag] == tag)
                try await daemon.call(.patch, path, #"{"userInfo":{"b":1}}"#)
                expectProblem(try await put(read.text, ["if-match": tag]), 412, "precondition-failed")
                #expect(try await put(read.text, ["if-match": "*"]).status == 200)
                for bad in [["if-match": "W/x"], ["if-none-match": "\"a\""], ["if-match": "*", "if-none-match": "*"]] {
                    expectProblem(try await put(body, bad), 400, "invalid-precondition")
                }
            }
            let gone = try await daemon.call(
                .put, "\(TestDaemon.gallery)/sessions/none", #"{"endpoint":{"stream":true}}"#,
                headers: ["if-match": "*"])
            expectProblem(gone, 412, "precondition-failed")
        }
    }

    @Test func anEventWithoutAContentIsRefusedWhereOneIsRequired() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery(#"{"routing":{"requireContentId":true}}"#)
            try await daemon.call(.put, Self.path, "{\(Self.tab)}")
            let item = #"{"shortcutItem":{"type":"x"}}"#
            expectProblem(
                try await daemon.call(.post, "\(TestDaemon.gallery)/events", item), 422, "content-id-missing")
            let source = #"{"kind":"scene","application":"com.example.gallery","secrets":["s"]}"#
            #expect(try await daemon.call(.put, "/v1/sources/scenes", source).status == 201)
            let sent = try await daemon.call(
                .post, "/v1/sources/scenes", item, headers: ["authorization": "Bearer s"])
            expectProblem(sent, 422, "content-id-missing")
        }
    }
}
