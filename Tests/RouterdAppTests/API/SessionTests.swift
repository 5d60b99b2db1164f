import HTTPTypes
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

@Suite("Sessions", .longest)
struct SessionTests {
    private static let url = "http://127.0.0.1:9/hook"
    private static let path = "\(TestDaemon.gallery)/sessions/win-1"
    private static let whole = """
        {"role": "windowApplication", "device": "phone", "activationState": "foregroundActive",
         "activationConditions": {
           "canActivateForTargetContentIdentifierPredicate": "SELF BEGINSWITH 'photo/'",
           "prefersToActivateForTargetContentIdentifierPredicate": {"format": "SELF == %@", "arguments": ["photo/1"]},
           "preferenceLevel": 3},
         "endpoint": {"url": "\(url)", "secret": "\(Receiver.secret)"},
         "stateRestorationActivity": {"activityType": "a.b", "userInfo": {"page": 4}},
         "userInfo": {"theme": {"name": "dark", "size": 12}, "tags": ["x"]}, "leaseSeconds": 60}
        """

    @Test func isCreatedThenReplacedWhole() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            let created = try await daemon.call(.put, Self.path, Self.whole)
            #expect(created.status == 201)
            #expect(created.id == "win-1")
            #expect(created["application"] == "com.example.gallery")
            #expect(created["device"] == "phone")
            #expect(created["activationState"] == "foregroundActive")
            #expect(created["lastActivatedAt"].asString != nil)
            #expect(created["leaseExpiresAt"].asString != nil)
            #expect(created["userInfo", "theme", "size"] == 12)
            let conditions = created["activationConditions"]
            #expect(
                conditions == [
                    "canActivateForTargetContentIdentifierPredicate": "SELF BEGINSWITH 'photo/'",
                    "prefersToActivateForTargetContentIdentifierPredicate": "SELF == 'photo/1'",
                    "preferenceLevel": 3,
                ])
            #expect(try await daemon.session("win-1").json == created.json)

            let replaced = try await daemon.putSession("win-1", at: Self.url)
            #expect(replaced.status == 200)
            for gone in ["device", "stateRestorationActivity", "leaseSeconds", "leaseExpiresAt"] {
                #expect(replaced[gone] == .null, "\(gone)")
            }
            #expect(replaced["userInfo"] == [:])
            #expect(replaced["activationState"] == "unattached")
            #expect(
                replaced["activationConditions"] == [
                    "canActivateForTargetContentIdentifierPredicate": "TRUEPREDICATE",
                    "prefersToActivateForTargetContentIdentifierPredicate": "FALSEPREDICATE", "preferenceLevel": 0,
                ])
        }
    }

    @Test func secretIsMadeOnceAndNeverShownAgain() async throws {
        try await withGallery { daemon, receiver in
            let body = #"{"endpoint":{"url":"\#(receiver.url())"}}"#
            let created = try await daemon.call(.put, Self.path, body)
            let secret = try #require(created["endpoint", "secret"].asString)
            let replaced = try await daemon.call(.put, Self.path, body)
            #expect(replaced.status == 200)
            let patched = try await daemon.call(.patch, Self.path, #"{"device":"x"}"#)
            let others = [
                replaced, patched, try await daemon.session("win-1"),
                try await daemon.call(.get, "\(TestDaemon.gallery)/sessions"),
            ]
            for answer in others { #expect(!answer.text.contains("secret"), "\(answer.text)") }
            try receiver.trust(secret)
            try await daemon.post(about: "a")
            #expect(try await receiver.webhooks(1).first?.isVerified == true)

            // A merge patch: omitted members stay, and a removed secret is generated anew.
            let moved = try await daemon.call(.patch, Self.path, #"{"endpoint":{"url":"\#(receiver.url("/new"))"}}"#)
            #expect(moved.status == 200 && !moved.text.contains("secret"))
            try await daemon.post(about: "b")
            #expect(try await receiver.webhooks(1, at: "/new").first?.isVerified == true)
            let renewed = try await daemon.call(.patch, Self.path, #"{"endpoint":{"secret":null}}"#)
            #expect(renewed["endpoint", "secret"].asString?.hasPrefix("whsec_") == true)
            #expect(renewed["endpoint", "secret"].asString != secret)
            #expect(renewed["endpoint", "url"].asString == receiver.url("/new"))
            let supplied = try await daemon.putSession("win-1", at: Self.url)
            #expect(!supplied.text.contains("secret"))
        }
    }

    @Test func illegalTransitionsAreRefusedAndTheLegalOnesNamed() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            try await daemon.call(.put, Self.path, Self.whole)
            for patch in [#"{"activationState":"unattached"}"#, #"{"device":"new","activationState":null}"#] {
                let refused = try await daemon.call(.patch, Self.path, patch)
                expectProblem(refused, 409, "illegal-transition")
                #expect(refused.json.at("legal") == ["background", "foregroundInactive"])
                #expect(try await daemon.session("win-1")["device"] == "phone", "nothing is half done")
            }
            for state in ["background", "unattached", "foregroundInactive", "foregroundActive"] {
                let patched = try await daemon.call(.patch, Self.path, #"{"activationState":"\#(state)"}"#)
                #expect(patched.status == 200 && patched["activationState"].asString == state)
            }
        }
    }

    /// A merge patch, and the value of a field of the session afterwards; the rest stays as in `whole`.
    private static let patches: [(patch: String, field: [String], value: JSONValue)] = [
        (#"{"device":"tablet"}"#, ["device"], "tablet"),
        (#"{"device":null}"#, ["device"], .null),
        (#"{"activationState":"background"}"#, ["activationState"], "background"),
        (
            #"{"userInfo":{"theme":{"size":13}}}"#, ["userInfo"],
            ["theme": ["name": "dark", "size": 13], "tags": ["x"]]
        ),
        (
            #"{"userInfo":{"theme":{"name":null},"new":1}}"#, ["userInfo"],
            ["theme": ["size": 12], "tags": ["x"], "new": 1]
        ),
        (#"{"userInfo":{"theme":null,"tags":null}}"#, ["userInfo"], [:]),
        (#"{"userInfo":{"tags":{"a":null,"b":1}}}"#, ["userInfo", "tags"], ["b": 1]),
        (
            #"{"stateRestorationActivity":{"userInfo":{"page":5}}}"#, ["stateRestorationActivity"],
            ["activityType": "a.b", "userInfo": ["page": 5]]
        ),
        (#"{"stateRestorationActivity":null}"#, ["stateRestorationActivity"], .null),
        (#"{"leaseSeconds":null}"#, ["leaseSeconds"], .null),
        (#"{"leaseSeconds":5}"#, ["leaseSeconds"], 5),
        (#"{"activationConditions":{"preferenceLevel":9}}"#, ["activationConditions", "preferenceLevel"], 9),
        (#"{"activationConditions":{"preferenceLevel":null}}"#, ["activationConditions", "preferenceLevel"], 0),
        (
            #"{"activationConditions":{"preferenceLevel":1}}"#,
            ["activationConditions", "canActivateForTargetContentIdentifierPredicate"], "SELF BEGINSWITH 'photo/'"
        ),
        (
            #"{"activationConditions":{"canActivateForTargetContentIdentifierPredicate":null}}"#,
            ["activationConditions", "canActivateForTargetContentIdentifierPredicate"], "TRUEPREDICATE"
        ),
        (
            #"{"activationConditions":{"prefersToActivateForTargetContentIdentifierPredicate":"SELF == 'z'"}}"#,
            ["activationConditions", "prefersToActivateForTargetContentIdentifierPredicate"], "SELF == 'z'"
        ),
        (
            #"{"activationConditions":null}"#, ["activationConditions"],
            [
                "canActivateForTargetContentIdentifierPredicate": "TRUEPREDICATE",
                "prefersToActivateForTargetContentIdentifierPredicate": "FALSEPREDICATE", "preferenceLevel": 0,
            ]
        ),
        ("{}", ["device"], "phone"),
    ]

    @Test(arguments: patches)
    func patchMerges(_ row: (patch: String, field: [String], value: JSONValue)) async throws {
        try await withDaemon { daemon in
            // No event reaches the endpoint, whose breaker stays closed.
            try await daemon.putGallery(#"{"delivery":{"lifeCycleEvents":false}}"#)
            let before = try await daemon.call(.put, Self.path, Self.whole)
            let patched = try await daemon.call(.patch, Self.path, row.patch)
            #expect(patched.status == 200, "\(patched.text)")
            #expect(patched.json.at(row.field) == row.value)
            let after = try await daemon.session("win-1")
            #expect(after.json == patched.json)
            for member in before.json.asObject?.members ?? []
            // A session without an endpoint is not reachable.
            where member.key != row.field.first && !member.key.hasPrefix("lease")
                && !(member.key.contains("reachable") && row.field.first == "endpoint")
            {
                #expect(after[member.key] == member.value, "\(member.key) was not named")
            }
        }
    }

    /// The dictionary itself cannot be removed, but its members can.
    @Test func patchWithNullEmptiesUserInfo() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            try await daemon.call(.put, Self.path, Self.whole)
            let patched = try await daemon.call(.patch, Self.path, #"{"userInfo":null}"#)
            #expect(patched["userInfo"] == [:])
        }
    }

    @Test func patchOfNobodyIsRefused() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            expectProblem(try await daemon.call(.patch, Self.path, "{}"), 404, "unknown-session")
            expectProblem(try await daemon.call(.delete, Self.path), 404, "unknown-session")
            expectProblem(try await daemon.call(.get, Self.path), 404, "unknown-session")
        }
    }

    @Test func patchCannotTakeTheOnlyEndpoint() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("win-1", at: Self.url)
            expectProblem(try await daemon.call(.patch, Self.path, #"{"endpoint":null}"#), 422, "endpoint-missing")
            #expect(try await daemon.session("win-1")["endpoint", "url"].asString == Self.url)
        }
    }

    @Test func configurationIsTheFirstOfTheRoleUnlessNamed() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery(
                #"{"manifest":{"sceneConfigurations":[{"name":"Main","endpoint":{"url":"http://127.0.0.1:9/a"}},"#
                    + #"{"name":"Detail","endpoint":{"url":"http://127.0.0.1:9/b"}},"#
                    + #"{"name":"External","role":"external","endpoint":{"url":"http://127.0.0.1:9/c"}}]}}"#)
            let standard = try await daemon.call(.put, Self.path, "{}")
            #expect(standard["configuration"] == "Main")
            #expect(try await daemon.call(.put, Self.path, #"{"configuration":"Detail"}"#)["configuration"] == "Detail")
            let reset = try await daemon.call(.patch, Self.path, #"{"configuration":null}"#)
            #expect(reset["configuration"] == "Main")
            #expect(try await daemon.call(.put, Self.path, #"{"role":"external"}"#)["configuration"] == "External")
            let wrong = try await daemon.call(.put, Self.path, #"{"role":"external","configuration":"Main"}"#)
            expectProblem(wrong, 422, "unknown-configuration")
        }
    }

    @Test func conditionsMayBeSwiftUISets() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            let sets = #""activationConditions":{"allowing":["*"],"preferring":["doc/42","doc/43"]}"#
            let created = try await daemon.putSession("win-1", at: Self.url, sets)
            #expect(created.status == 201)
            try await daemon.putSession("win-2", at: Self.url, #""activationConditions":{"allowing":[]}"#)
            for (content, session, tier) in [("doc/42", "win-1", "prefers"), ("other", "win-1", "can")] {
                let answer = try await daemon.call(
                    .post, "\(TestDaemon.gallery)/explain", #"{"notification-content-id":"\#(content)"}"#)
                #expect(answer["decision", "session"].asString == session)
                #expect(answer["decision", "tier"].asString == tier)
            }
        }
    }

    @Test(arguments: ["", "?dismissal=standard", "?dismissal=commit", "?dismissal=decline"])
    func isDiscardedForGood(query: String) async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("win-1", at: Self.url)
            #expect(try await daemon.call(.delete, Self.path + query).status == 204)
            expectProblem(try await daemon.session("win-1"), 404, "unknown-session")
        }
    }

    @Test func listIsFilteredAndPaged() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            for number in 0..<12 {
                let state = ["unattached", "background", "foregroundActive"][number % 3]
                let device = number < 6 ? "phone" : "tablet"
                try await daemon.putSession(
                    "s\(number)", at: Self.url, #""activationState":"\#(state)","device":"\#(device)""#)
            }
            let list = "\(TestDaemon.gallery)/sessions"
            let everyone = (0..<12).map { "s\($0)" }.sorted()
            #expect(try await daemon.call(.get, list).ids("sessions") == everyone)
            #expect(
                try await daemon.call(.get, "\(list)?state=background").ids("sessions") == ["s1", "s10", "s4", "s7"])
            #expect(
                try await daemon.call(.get, "\(list)?device=phone&state=unattached").ids("sessions") == ["s0", "s3"])
            #expect(try await daemon.call(.get, "\(list)?device=nobody").ids("sessions") == [])
            var seen: [String] = []
            var cursor = ""
            repeat {
                let page = try await daemon.call(.get, "\(list)?device=tablet&limit=4\(cursor)")
                seen += page.ids("sessions")
                // Sessions added behind the cursor's place are not shown, and sessions added before it do not shift the
                // pages.
                try await daemon.putSession("a\(seen.count)", at: Self.url, #""device":"tablet""#)
                cursor = page["cursor"].asString.map { "&cursor=\($0)" } ?? ""
            } while !cursor.isEmpty && seen.count < 50
            #expect(seen == ["s10", "s11", "s6", "s7", "s8", "s9"])
        }
    }

    @Test func aLeaseLapsesUnlessRenewed() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            try await daemon.putSession(
                "win-1", at: Self.url, #""activationState":"foregroundActive","leaseSeconds":1"#)
            try await daemon.until { try await daemon.session("win-1")["activationState"] == "unattached" }
            let lapsed = try await daemon.session("win-1")
            #expect(lapsed["leaseExpiresAt"] == .null)
            #expect(lapsed["leaseSeconds"] == 1)
        }
    }
}
