import HTTPTypes
import Router
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// After many concurrent good and bad requests to sources, the store has every acknowledged event once, and no other.
@Suite("Conservation of requests to sources", .longest)
struct SourceConservationTests {
    /// A request, and the content ids of its events; none if it has to be refused.
    private struct Sent: Sendable {
        let kind: String
        let body: [UInt8]
        var type: String?
        let contents: Set<String>
        var isForged = false
    }

    private static let batch = "application/cloudevents-batch+json"

    private static func request(_ number: Int, using random: inout SplitMix64) -> Sent {
        let count = Int.random(in: 2...40, using: &random)
        let bad = Int.random(in: 0..<count, using: &random)
        // A fault in the middle: events before it must not be committed.
        let isBad = Int.random(in: 0..<3, using: &random) == 0
        func contents(_ names: some Sequence<String>) -> Set<String> {
            isBad ? [] : Set(names.map { "\($0)/\(number)" })
        }
        func elements(_ element: (Int) -> String, orElse fault: String) -> String {
            (0..<count).map { isBad && $0 == bad ? fault : element($0) }.joined(separator: ",")
        }
        switch Int.random(in: 0..<5, using: &random) {
        case 0:
            let alerts = elements(
                {
                    #"{"status":"firing","startsAt":"t","fingerprint":"\#($0)-\#(number)","labels":{"c":"a\#($0)/\#(number)"}}"#
                }, orElse: #"{"status":"firing","startsAt":"t","fingerprint":"bad-\#(number)"}"#)
            let body = #"{"version":"4","alerts":[\#(alerts)]}"#
            return Sent(
                kind: "alertmanager", body: Array(body.utf8), contents: contents((0..<count).map { "a\($0)" }))
        case 1, 2:
            let events = elements(
                {
                    #"{"specversion":"1.0","id":"\#($0)","source":"/\#(number)","type":"t","subject":"e\#($0)/\#(number)"}"#
                }, orElse: #"{"specversion":"1.0","id":"x","source":"/\#(number)","type":"t","subject":"a\u0000"}"#)
            return Sent(
                kind: "cloudevents", body: Array("[\(events)]".utf8), type: batch,
                contents: contents((0..<count).map { "e\($0)" }))
        case 3:
            let body = #"{"notification-content-id":"p0/\#(number)"\#(isBad ? "," : "")}"#
            return Sent(kind: "push", body: Array(body.utf8), contents: contents(["p0"]))
        default:
            let body = #"{"c":"g0/\#(number)"}"#
            return Sent(kind: "github", body: Array(body.utf8), contents: contents(["g0"]), isForged: isBad)
        }
    }

    private static func post(_ sent: Sent, to daemon: TestDaemon) async throws -> Answer {
        guard let way = JSONWay.sources.first(where: { $0.name == sent.kind }) else {
            throw ProgramError(reason: sent.kind)
        }
        var headers = way.headers(sent.isForged ? sent.body + [0x20] : sent.body, daemon.host.now)
        if let type = sent.type { headers["content-type"] = type }
        if sent.kind == "github" {
            headers["x-github-delivery"] = String(JSONWay.hex(JSONWay.code(sent.body)).prefix(36))
        }
        return try await daemon.call(.post, way.path, bytes: sent.body, headers: headers)
    }

    private static func prepare(_ daemon: TestDaemon, _ receiver: Receiver) async throws {
        try await daemon.putWays()
        try await daemon.putGallery()
        try await daemon.putSession("win-1", at: receiver.url())
        for (kind, template) in [("alertmanager", "{alert.labels.c}"), ("github", "{c}")] {
            let body =
                #"{"kind":"\#(kind)","application":"com.example.gallery","secrets":["\#(JSONWay.secret)"],"contentId":"\#(template)","onMissing":"refuse"}"#
            #expect(try await daemon.call(.put, "/v1/sources/\(kind)", body).status == 200)
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64]) func nothingIsLostAndNothingIsHalfDone(seed: UInt64) async throws {
        try await withGallery { daemon, receiver in
            try await Self.prepare(daemon, receiver)
            var random = SplitMix64(seed: seed)
            let all = (0..<120).map { Self.request($0, using: &random) }
            // Some requests are repeated, before, during or after the first.
            let repeated = all.filter { $0.kind != "push" && !$0.contents.isEmpty }.prefix(30)
            let answers = try await withThrowingTaskGroup(of: (Sent, Answer).self) { group in
                for sent in (all + repeated).shuffled(using: &random) {
                    group.addTask { (sent, try await Self.post(sent, to: daemon)) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for (sent, answer) in answers {
                let isTaken = [200, 202].contains(answer.status)
                #expect(
                    isTaken == !sent.contents.isEmpty, "seed \(seed), \(sent.kind): \(answer.status) \(answer.text)")
                if isTaken { #expect(answer["notifications"].asArray?.count == sent.contents.count, "seed \(seed)") }
            }
            let expected = all.reduce(into: Set<String>()) { $0.formUnion($1.contents) }
            try await daemon.until { try daemon.store.census().byState[.waiting, default: 0] == 0 }
            let found = try daemon.store.notifications(matching: NotificationFilter(), limit: 10_000)
                .filter { $0.event == nil }.compactMap { $0.contentID?.text }
            #expect(found.count == expected.count && Set(found) == expected, "seed \(seed)")
            let status = try await daemon.call(.get, "/v1/status")["notifications"]
            #expect(status["unaccounted"] == 0, "seed \(seed): \(status)")
        }
    }
}
