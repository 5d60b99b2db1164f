import HTTPTypes
import Router
import RouterPlugin
import RouterdApp
import TestSupport
import Testing

@testable import DaemonTesting

/// The egress guard refuses an endpoint at registration, as far as its facts are known then.
@Suite("Endpoints and the egress guard", .longest)
struct EndpointGuardTests {
    private static let session = "\(TestDaemon.gallery)/sessions/win-1"

    /// A URL, and the rule that refuses it without grants.
    static let forbidden: [(url: String, rule: String)] = [
        ("http://127.0.0.1/", "loopback"), ("http://127.0.0.1:8080/hook", "loopback"), ("https://127.1/", "loopback"),
        ("http://2130706433/", "loopback"), ("http://0x7f000001/", "loopback"), ("http://0x7f.1/", "loopback"),
        ("http://0177.0.0.1/", "loopback"), ("http://017700000001/", "loopback"), ("http://127.0.1/", "loopback"),
        ("http://127.0.0.1./", "loopback"), ("http://0x7F.0x0.0x0.0x1/", "loopback"),
        ("http://%31%32%37.0.0.1/", "loopback"),
        ("http://localhost/", "loopback"), ("http://LOCALHOST:9000/", "loopback"), ("http://localhost./", "loopback"),
        ("http://hooks.localhost/", "loopback"), ("http://[::1]/", "loopback"), ("http://[0:0::0:1]:80/", "loopback"),
        ("http://[::ffff:127.0.0.1]/", "loopback"), ("http://[::FFFF:7F00:1]/", "loopback"),
        ("http://[::127.0.0.1]/", "loopback"), ("http://[64:ff9b::127.0.0.1]/", "loopback"),
        ("http://[2002:7f00:1::]/", "loopback"), ("http://[2001:0:808:808::80ff:fffe]/", "loopback"),
        ("http://0/", "this-network"), ("http://0.0.0.0:8080/", "this-network"), ("http://[::]/", "this-network"),
        ("http://10.0.0.1/", "private-use"), ("http://167772161/", "private-use"), ("http://012.1/", "private-use"),
        ("http://192.168.1.1/", "private-use"), ("http://0xc0a80101/", "private-use"),
        ("http://172.16.0.1/", "private-use"), ("http://100.64.0.1/", "shared-address-space"),
        ("http://169.254.1.1/", "link-local"), ("http://[fe80::1]/", "link-local"),
        ("http://[fe80::1%25lo]/", "link-local"), ("http://[fd12:3456::1]/", "unique-local"),
        ("http://169.254.169.254/latest/meta-data/", "metadata"), ("http://2852039166/", "metadata"),
        ("http://0xa9fea9fe/", "metadata"), ("http://0251.0376.0251.0376/", "metadata"),
        ("http://169.16689662/", "metadata"), ("http://[fd00:ec2::254]/", "metadata"),
        ("http://[::ffff:169.254.169.254]/", "metadata"), ("http://[64:ff9b::a9fe:a9fe]/", "metadata"),
        ("http://[2002:a9fe:a9fe::1]/", "metadata"), ("http://100.100.100.200/", "metadata"),
        ("http://metadata.google.internal/", "metadata"), ("http://METADATA.google.internal./", "metadata"),
        ("http://224.0.0.1/", "multicast"), ("http://255.255.255.255/", "broadcast"), ("http://240.0.0.1/", "reserved"),
        ("http://4294967295/", "broadcast"), ("http://192.0.2.1/", "documentation"),
        ("http://[2001:db8::1]/", "documentation"), ("http://198.18.0.1/", "benchmarking"),
        ("http://[ff02::1]/", "multicast"), ("http://[5f00::1]/", "segment-routing"),
        ("http://hooks.example:22/", "port"), ("http://8.8.8.8:25/", "port"), ("https://hooks.example:6379/", "port"),
    ]

    private static let allowed = [
        "https://hooks.example/", "http://hooks.example:8080/", "https://8.8.8.8/", "https://[2606:4700:4700::1111]/",
        "https://localhost.example/", "https://127.0.0.1.example/",
    ]

    @Test func anUnreachableAddressIsRefused() async throws {
        try await withDaemon(TestDaemon.Options(egress: EgressPolicy())) { daemon in
            try await daemon.putGallery()
            try await daemon.call(.put, Self.session, #"{"endpoint":{"url":"https://hooks.example/"}}"#)
            let before = try await daemon.session("win-1").bytes
            let commits = daemon.store.commits.count
            for (url, rule) in Self.forbidden {
                let body = #"{"endpoint":{"url":"\#(url)"}}"#
                let scene = #"{"manifest":{"sceneConfigurations":[{"name":"a","endpoint":{"url":"\#(url)"}}]}}"#
                let calls: [(HTTPRequest.Method, String, String, pointer: String)] = [
                    (.put, Self.session, body, "/endpoint/url"), (.patch, Self.session, body, "/endpoint/url"),
                    (.put, TestDaemon.gallery, scene, "/manifest/sceneConfigurations/0/endpoint/url"),
                    (.put, TestDaemon.gallery, #"{"delegate":{"url":"\#(url)"}}"#, "/delegate/url"),
                ]
                for call in calls {
                    let answer = try await daemon.call(call.0, call.1, call.2)
                    expectProblem(answer, 422, "endpoint-not-allowed", "\(call.0) \(url)")
                    #expect(answer["pointer"].asString == call.pointer)
                    let detail = answer["detail"].asString ?? ""
                    #expect(detail.hasSuffix("(rule \(rule))."), "\(url): \(detail)")
                }
                let lines = try await daemon.call(
                    .post, "\(TestDaemon.gallery)/sessions:batch", #"{"id":"a","endpoint":{"url":"\#(url)"}}"#
                ).lines
                #expect(lines.map { $0.at("error", "code") } == ["endpoint-not-allowed"], "\(url)")
            }
            #expect(try await daemon.session("win-1").bytes == before)
            #expect(daemon.store.commits.count == commits)
        }
    }

    @Test(arguments: allowed)
    func aReachableAddressIsTaken(url: String) async throws {
        try await withDaemon(TestDaemon.Options(egress: EgressPolicy())) { daemon in
            try await daemon.putGallery()
            let answer = try await daemon.call(.put, Self.session, #"{"endpoint":{"url":"\#(url)"}}"#)
            #expect(answer.status == 201, "\(answer.text)")
        }
    }

    @Test func aGrantIsForItsApplication() async throws {
        let grant = EgressGrant(
            application: ApplicationID(unchecked: "mine"), network: try IPNetwork("10.0.0.0/8"), ports: [8080...8080])
        try await withDaemon(TestDaemon.Options(egress: EgressPolicy(grants: [grant]))) { daemon in
            for (application, port, status) in [("mine", 8080, 201), ("mine", 8081, 422), ("theirs", 8080, 422)] {
                let path = "/v1/applications/\(application)"
                try await daemon.call(.put, path, "{}")
                let body = #"{"endpoint":{"url":"http://10.0.0.5:\#(port)/"}}"#
                let answer = try await daemon.call(.put, "\(path)/sessions/\(port)", body)
                #expect(answer.status == status, "\(answer.text)")
            }
        }
    }

    /// The transport is told for which application it connects.
    @Test func aGrantOfTheApplicationLetsItsWebhooksThrough() async throws {
        let network = try IPNetwork("127.0.0.0/8")
        let grant = EgressGrant(application: ApplicationID(unchecked: "com.example.gallery"), network: network)
        try await withGallery(TestDaemon.Options(egress: EgressPolicy(grants: [grant]))) { daemon, receiver in
            #expect(try await daemon.putSession("win-1", at: receiver.url()).status == 201)
            let id = try await daemon.post(about: "a").id
            #expect(try await daemon.settled(id)["state"] == "delivered")
        }
    }

    @Test func aPatchOfSomethingElseDoesNotAskAgain() async throws {
        let directory = try TemporaryDirectory()
        try await withDaemon(TestDaemon.Options(database: directory.file())) { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("win-1", at: "http://127.0.0.1:9/")
        }
        try await withDaemon(TestDaemon.Options(database: directory.file(), egress: EgressPolicy())) { daemon in
            let answer = try await daemon.call(.patch, Self.session, #"{"activationState":"background"}"#)
            #expect(answer.status == 200, "\(answer.text)")
        }
    }

    /// An endpoint whose grant was withdrawn is refused: once, and permanently.
    @Test func anAddressRefusedByTheGuardMakesADeadLetter() async throws {
        let directory = try TemporaryDirectory()
        try await withReceiver { receiver in
            let url = receiver.url()
            try await withDaemon(TestDaemon.Options(database: directory.file())) { daemon in
                try await daemon.putGallery(#"{"delivery":{"retrySchedule":[0,0,0]}}"#)
                try await daemon.putSession("win-1", at: url)
                let id = try await daemon.post(about: "a").id
                #expect(try await daemon.settled(id)["state"] == "delivered")
            }
            try await withDaemon(TestDaemon.Options(database: directory.file(), egress: EgressPolicy())) { daemon in
                let id = try await daemon.post(about: "b").id
                let settled = try await daemon.settled(id)
                #expect(settled["state"] == "deadLettered" && settled["reason"] == "egress-refused")
                let attempts = settled["attempts"].asArray ?? []
                #expect(attempts.count == 1, "it is not retried")
                #expect(attempts.first?.at("error", "kind") == "egress-refused")
                let message = attempts.first?.at("error", "message").asString ?? ""
                #expect(
                    message.hasPrefix("127.0.0.1 is a loopback address (127.0.0.0/8), and egress.grants has no grant"))
                #expect(message.hasSuffix("(rule loopback)"), "\(message)")
            }
            #expect(receiver.all.count == 1)
        }
    }
}
