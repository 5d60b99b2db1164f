import HTTPTypes
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

@Suite("Operating", .longest)
struct OperatingTests {
    /// The router in this process, and through a socket: the same calls, the same answers.
    @Test(arguments: [false, true])
    func theWholePathWorks(isLive: Bool) async throws {
        try await withGallery(TestDaemon.Options(isLive: isLive)) { daemon, receiver in
            #expect(try await daemon.call(.get, "/healthz").json == ["status": "ok"])
            for path in ["/healthz", "/readyz", TestDaemon.gallery] {
                let (head, get) = (try await daemon.call(.head, path), try await daemon.call(.get, path))
                #expect(head.status == get.status && head.bytes.isEmpty, "\(path)")
            }
            #expect(try await daemon.call(.delete, "/healthz").headers[.allow] == "GET, HEAD")
            #expect(try await daemon.call(.get, "/readyz").json == ["status": "ready"])
            #expect(try await daemon.putSession("caf%C3%A9", at: receiver.url()).status == 201)
            #expect(try await daemon.call(.patch, "\(TestDaemon.gallery)/sessions/caf%C3%A9", "{}").status == 200)
            let accepted = try await daemon.post(about: "a", headers: ["apns-priority": "5"])
            #expect(accepted.status == 202)
            #expect(try await receiver.webhooks(1).first?.isVerified == true)
            #expect(try await daemon.settled(accepted.id)["priority"] == 5)
            let page = try await daemon.call(.get, "/v1/notifications?session=caf%C3%A9&state=delivered")
            #expect(page.ids("notifications") == [accepted.id])
            expectProblem(try await daemon.putGallery("{"), 400, "json-unexpected-end")
            expectProblem(try await daemon.call(.get, "/v1/nothing"), 404, "not-found")
            expectProblem(try await daemon.call(.patch, TestDaemon.gallery, "{}"), 405, "method-not-allowed")
            expectProblem(try await daemon.session("%ff"), 400, "invalid-session-id")
            #expect(try await daemon.call(.delete, TestDaemon.gallery).status == 204)
            // This answer may be the last one of the connection: a long rest of a body is not waited for.
            let large = #"{"a":"\#(String(repeating: "a", count: 300_000))"}"#
            expectProblem(try await daemon.putGallery(large), 413, "body-too-large")
        }
    }
}
