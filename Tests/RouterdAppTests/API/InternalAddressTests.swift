import HTTPTypes
import Router
import RouterPlugin
import RouterdApp
import TestSupport
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// Addresses of the operator's network in the attempts that are shown.
@Suite("Internal addresses", .longest)
struct InternalAddressTests {
    private static let gallery = ApplicationID(unchecked: "com.example.gallery")
    private static let keys = [
        APIKey(name: "root", key: "rk_root", scopes: [.admin], application: nil),
        APIKey(name: "scenes", key: "rk_scenes", scopes: [.sessions, .ingest], application: nil),
        APIKey(name: "tenant", key: "rk_tenant", scopes: [.admin], application: gallery),
    ]

    @Test(
        "an address that is not public is removed from a text",
        arguments: [
            ("10.1.2.3 is a private address (10.0.0.0/8).", "(internal) is a private address ((internal)/8)."),
            ("Failed to connect to 127.0.0.1:8080: refused", "Failed to connect to (internal) refused"),
            ("[fd00::1]:443 and ::1", "[(internal)]:443 and (internal)"),
            ("::ffff:192.168.0.1", "(internal)"), ("169.254.169.254", "(internal)"),
            ("8.8.8.8 and 2001:4860:4860::8888 are public", "8.8.8.8 and 2001:4860:4860::8888 are public"),
            ("timed out after 15001 milliseconds: cafe.beef", "timed out after 15001 milliseconds: cafe.beef"),
            ("", ""), ("::::", "::::"), ("...", "..."),
        ])
    func removed(text: String, expected: String) {
        #expect(InternalAddresses.removed(from: text) == expected)
    }

    @Test("an operator sees where an attempt went, and a tenant does not")
    func remoteAddresses() async throws {
        try await withReceiver { receiver in
            try await withDaemon(TestDaemon.Options(keys: Self.keys)) { daemon in
                let root = bearer("rk_root")
                #expect(try await daemon.call(.put, TestDaemon.gallery, "{}", headers: root).status == 201)
                let session = #"{"endpoint":{"url":"\#(receiver.url())","secret":"\#(Receiver.secret)"}}"#
                let path = "\(TestDaemon.gallery)/sessions/win-1"
                #expect(try await daemon.call(.put, path, session, headers: root).status == 201)
                let id = try await daemon.post("{}", headers: root).id
                try await daemon.until {
                    try await daemon.call(.get, "/v1/notifications/\(id)", headers: root)["state"] == "delivered"
                }
                for (key, isShown) in [("rk_root", true), ("rk_scenes", false), ("rk_tenant", false)] {
                    let shown = try await daemon.call(.get, "/v1/notifications/\(id)", headers: bearer(key))
                    #expect(shown.status == 200)
                    let address = shown["attempts"].asArray?.first?.at("remoteAddress").asString
                    #expect((address?.hasPrefix("127.0.0.1:") ?? false) == isShown, "\(key)")
                    #expect(shown.text.contains("127.0.0.1") == isShown, "\(key)")
                    let test = try await daemon.call(.post, "\(path)/test", headers: bearer(key))
                    #expect(test.status == 200 && test.text.contains("127.0.0.1") == isShown, "\(key)")
                }
            }
        }
    }

    @Test("the reason of a refused connection is the operator's")
    func refusals() async throws {
        let directory = try TemporaryDirectory()
        let root = bearer("rk_root")
        try await withReceiver { receiver in
            try await withDaemon(TestDaemon.Options(database: directory.file())) { daemon in
                try await daemon.putGallery()
                try await daemon.putSession("win-1", at: receiver.url())
            }
            let options = TestDaemon.Options(database: directory.file(), keys: Self.keys, egress: EgressPolicy())
            try await withDaemon(options) { daemon in
                let id = try await daemon.post("{}", headers: root).id
                try await daemon.until {
                    try await daemon.call(.get, "/v1/notifications/\(id)", headers: root)["state"] == "deadLettered"
                }
                let operators = try await daemon.call(.get, "/v1/notifications/\(id)", headers: root)
                #expect(operators.text.contains("127.0.0.1 is a loopback address"))
                let tenants = try await daemon.call(.get, "/v1/notifications/\(id)", headers: bearer("rk_tenant"))
                let error = tenants["attempts"].asArray?.first?.at("error")
                #expect(error?.at("kind") == "egress-refused")
                #expect(error?.at("message").asString?.contains("the operator sees the reason") == true)
                #expect(!tenants.text.contains("127.") && !tenants.text.contains("loopback"), "\(tenants.text)")
            }
        }
    }
}
