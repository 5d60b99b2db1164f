import Foundation
import HTTPTypes
import RouterPlugin
import RouterdApp
import Testing

@testable import DaemonTesting

/// `routerd attach` on a daemon of its own process.
@Suite("attach", .timeLimit(.minutes(5)))
struct AttachTests {
    @Test func payloadsOfTheGreatestSizeReachTheCommand() async throws {
        let directory = try TemporaryDirectory()
        try await withServedDaemon { daemon in
            try await daemon.putGallery(#"{"delivery":{"retrySchedule":[0],"lifeCycleEvents":false}}"#)
            let attach = try Program([
                "attach", "--server", daemon.address, "--application", "com.example.gallery", "--session", "agent",
                "--count", "2", "--exec", "cat > '\(directory.path)'/$ROUTERD_DELIVERY",
            ])
            _ = try await attach.line(beginning: "receiving for agent")
            let ids = try await daemon.postLargest()
            let ended = try await attach.ended()
            #expect(ended.status == 0, "\(ended.errors)")
            let messages = try ids.map { id in
                let text = try directory.read("dlv_\(id.dropFirst(4))")
                return try JSONValue(parsing: Array(text.utf8), limits: .received)
            }
            let payload = try JSONValue(parsing: Array(LargestPayload.json.utf8))
            #expect(messages[0].at("data", "payload") == payload)
            let bytes = messages[1].at("data", "payloadBase64").asString.flatMap { Base64.decode($0[...]) }
            #expect(bytes == LargestPayload.bytes)
            for id in ids {
                let attempts = try await daemon.notification(id)["attempts"].asArray ?? []
                #expect(attempts.map { $0["status"] } == [204])
            }
        }
    }
}
