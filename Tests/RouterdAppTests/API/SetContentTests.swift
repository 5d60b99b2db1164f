import HTTPTypes
import Router
import RouterPlugin
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// Sets together with resources of other origins, and the values of clients in them.
@Suite("Contents of sets")
struct SetContentTests {
    private static let application = "kind: Application\nid: prune.App\n"
    private static let keep = "kind: Application\nid: keep.App\n"

    private static func source(_ id: String) -> String {
        "kind: Source\napplication: prune.App\nid: \(id)\nspec: {kind: bearer, secrets: [t]}\n"
    }

    @Test(arguments: [false, true])
    func pruningAnApplicationWithOtherResourcesIsRefused(isDryRun: Bool) async throws {
        try await withDaemon { daemon in
            #expect(try await daemon.call(.post, "/v1/apply?set=p", Self.application).status == 200)
            #expect(try await daemon.call(.post, "/v1/apply?set=q", Self.source("of-q")).status == 200)
            let session = #"{"endpoint":{"url":"http://127.0.0.1:9/"}}"#
            try await daemon.call(.put, "/v1/applications/prune.App/sessions/by-hand", session)
            let source = #"{"kind":"bearer","application":"prune.App","secrets":["t"]}"#
            try await daemon.call(.put, "/v1/sources/by-hand", source)
            let query = "/v1/apply?set=p&prune=true&dryRun=\(isDryRun)"
            let refused = try await daemon.call(.post, query, Self.keep)
            #expect(refused.status == 409 && refused["code"] == "application-not-empty", "\(refused.text)")
            let detail = refused["detail"].asString ?? ""
            #expect(detail.contains("Session by-hand, Source by-hand, Source of-q"), "\(detail)")
            #expect(try await daemon.call(.get, "/v1/applications").ids("applications") == ["prune.App"])
            #expect(try await daemon.call(.get, "/v1/sources").ids("sources") == ["by-hand", "of-q"])
            for path in ["/v1/sources/by-hand", "/v1/sources/of-q", "/v1/applications/prune.App/sessions/by-hand"] {
                try await daemon.call(.delete, path)
            }
            let pruned = try await daemon.call(.post, query, Self.keep)
            #expect(pruned["changes"].asArray?.last?["action"] == "delete", "\(pruned.text)")
        }
    }

    @Test func anApplicationIsPrunedWithTheMembersOfItsSet() async throws {
        try await withDaemon { daemon in
            let set = Self.application + "---\n" + Self.source("own")
            #expect(try await daemon.call(.post, "/v1/apply?set=p", set).status == 200)
            let kept = try await daemon.call(.post, "/v1/apply?set=p&prune=true", Self.source("own"))
            #expect(kept.status == 409, "the set still names the source: \(kept.text)")
            let pruned = try await daemon.call(.post, "/v1/apply?set=p&prune=true", Self.keep)
            let actions = pruned["changes"].asArray?.map {
                "\($0["action"]?.asString ?? "") \($0["id"]?.asString ?? "")"
            }
            #expect(actions == ["create keep.App", "delete own", "delete prune.App"], "\(pruned.text)")
        }
    }

    @Test func theAnswerCountsWhatTheSetAdopts() async throws {
        try await withDaemon { daemon in
            try await daemon.call(.put, "/v1/applications/prune.App", "{}")
            let set = Self.application + "---\n" + Self.source("new")
            #expect(try await daemon.call(.post, "/v1/apply?dryRun=true", set)["adopted"] == 1)
            #expect(try await daemon.call(.post, "/v1/apply", set)["adopted"] == 1)
            #expect(try await daemon.call(.post, "/v1/apply", set)["adopted"] == 0)
        }
    }

    @Test func valuesOfClientsHaveNoSecretsAndNoNulls() async throws {
        try await withDaemon { daemon in
            try await daemon.call(.put, "/v1/applications/prune.App", "{}")
            let userInfo: JSONValue = ["secret": 1, "signingKeys": [["secret": "x"]], "none": .null, "a": ["b": .null]]
            let spec: JSONValue = ["endpoint": ["url": "http://127.0.0.1:9/"], "userInfo": userInfo]
            let path = "/v1/applications/prune.App/sessions/win"
            try await daemon.call(.put, path, String(decoding: spec.serialized(), as: UTF8.self))
            let session = try await daemon.call(.get, path)
            #expect(session["endpoint", "signingKeys"] != .null && session["userInfo"] == userInfo, "\(session.text)")
            let body = try JSONValue(parsing: Array(session.text.utf8), limits: .configuration)
            let exported = ResourceSpec.specification(body, of: .session)
            #expect(exported["userInfo"] == userInfo && exported["endpoint"] == spec["endpoint"], "\(exported)")

            func apply(_ userInfo: JSONValue) async throws -> Answer {
                let document: JSONValue = [
                    "kind": "Session", "application": "prune.App", "id": "win",
                    "spec": ["endpoint": ["url": "http://127.0.0.1:9/"], "userInfo": userInfo],
                ]
                return try await daemon.call(
                    .post, "/v1/apply", String(decoding: document.serialized(), as: UTF8.self))
            }
            let again = try await apply(userInfo)
            #expect(again["changes"].asArray?.first?["action"] == "unchanged", "\(again.text)")
            #expect(try await daemon.call(.get, path)["userInfo"] == userInfo)
            let changed = try await apply(["secret": 2])
            let fields = changed["changes"].asArray?.first?["fields"]
            #expect(fields == [["field": "/userInfo/secret", "before": 1, "after": 2]], "\(changed.text)")
            let removed = try await apply(["secret": .null])
            #expect(removed["changes"].asArray?.first?["action"] == "update", "\(removed.text)")
            #expect(try await daemon.call(.get, path)["userInfo", "secret"] == .null)
        }
    }

    @Test func aDemoOutlastsASetThatDescribesItsSession() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery(
                #"{"manifest":{"sceneConfigurations":[{"name":"Main"},{"name":"Demo"},{"name":"Side"}]},"#
                    + #""gates":{"onboarding":{"demoConfiguration":"Demo"}}}"#)
            let path = "\(TestDaemon.gallery)/sessions/win"
            let endpoint = #""endpoint":{"url":"http://127.0.0.1:9/"}"#
            try await daemon.call(.put, path, #"{"activationState":"foregroundActive",\#(endpoint)}"#)
            let shown = try await daemon.call(
                .post, "\(TestDaemon.gallery)/gate/open", #"{"session":"win","demo":true}"#)
            #expect(shown["state"] == "demo", "\(shown.text)")
            let expected = [
                ("", "unchanged", "demo"), (#","leaseSeconds":60"#, "update", "demo"),
                (#","configuration":"Side""#, "update", "notOpened"),
            ]
            for (fields, action, state) in expected {
                let document = #"{"kind":"Session","application":"com.example.gallery","id":"win","#
                let answer = try await daemon.call(
                    .post, "/v1/apply", document + #""spec":{\#(endpoint)\#(fields)}}"#)
                #expect(answer["changes"].asArray?.first?["action"] == .string(action), "\(answer.text)")
                let isInDemo = try await daemon.call(.get, path)["applicationScreen"] == "demo"
                #expect(isInDemo == (state == "demo"))
            }
        }
    }

    @Test func optionsThatAKindHasNotAreRefusedInARightSentence() async throws {
        try await withDaemon { daemon in
            try await daemon.call(.put, "/v1/applications/prune.App", "{}")
            let body = #"{"kind":"gitlab","application":"prune.App","secrets":["t"],"options":{"x":1}}"#
            let answer = try await daemon.call(.put, "/v1/sources/s", body)
            #expect(answer.status == 400 && answer["pointer"] == "/options/x", "\(answer.text)")
            #expect(answer["detail"] == "There is no such field; nothing can be configured here.", "\(answer.text)")
        }
    }
}
