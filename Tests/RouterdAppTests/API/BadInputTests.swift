import Foundation
import HTTPTypes
import Router
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// Invalid input is refused with a code of its own, changes nothing, and affects no other request.
@Suite("Bad input", .longest)
struct BadInputTests {
    static let groups: [(name: String, calls: [BadCall])] = [
        ("malformed", BadCall.malformed), ("not objects", BadCall.notObjects), ("sizes", BadCall.sizes),
        ("paths", BadCall.paths), ("queries", BadCall.queries), ("content ids", BadCall.contentIDs),
        ("applications", BadCall.applications), ("sessions", BadCall.sessions), ("endpoints", BadCall.endpoints),
        ("secrets", BadCall.secrets), ("signing keys", BadCall.signingKeys), ("rotations", BadCall.rotations),
    ]

    @Test(arguments: groups)
    func isRefusedAndChangesNothing(_ group: (name: String, calls: [BadCall])) async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url(), #""device":"phone""#)
            let application = try await daemon.call(.get, TestDaemon.gallery).bytes
            let session = try await daemon.session("win-1").bytes
            let commits = daemon.store.commits.count
            for bad in group.calls {
                let answer = try await daemon.call(bad.method, bad.path, bytes: bad.body)
                expectProblem(answer, bad.status, bad.code, Comment(rawValue: bad.name))
                if let pointer = bad.pointer { #expect(answer["pointer"].asString == pointer, "\(bad.name)") }
                #expect(try await daemon.call(.get, TestDaemon.gallery).bytes == application, "\(bad.name)")
                #expect(try await daemon.session("win-1").bytes == session, "\(bad.name)")
            }
            #expect(daemon.store.commits.count == commits)
            // Valid input still works.
            #expect(try await daemon.post(about: "a").status == 202)
            #expect(try await receiver.webhooks(1).count == 1)
        }
    }

    @Test func codesAreInKebabCase() {
        let allowed = Set("abcdefghijklmnopqrstuvwxyz0123456789-")
        for bad in Self.groups.flatMap(\.calls) { #expect(bad.code.allSatisfy(allowed.contains), "\(bad.code)") }
    }

    /// Predicates that are refused: the place and the code of the fault.
    private static let predicates: [(text: String, code: String, offset: Int64, length: Int64)] = [
        ("SELF BEGINWITH 'a'", "expected-operator", 5, 9),
        ("SELF ==", "unexpected-end", 7, 0),
        ("SELF MATCHES '.*'", "matches-not-allowed", 5, 7),
        ("name == 'a'", "key-path-not-allowed", 0, 4),
        ("'é' == SELF AND FUNCTION(SELF, 'x') == 1", "function-not-allowed", 17, 8),
    ]

    @Test(arguments: predicates)
    func refusedPredicateIsDrawn(_ row: (text: String, code: String, offset: Int64, length: Int64)) async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            let keys = [
                ("can", "canActivateForTargetContentIdentifierPredicate"),
                ("prefers", "prefersToActivateForTargetContentIdentifierPredicate"),
            ]
            for (side, key) in keys {
                let conditions = #""activationConditions":{"\#(key)":"\#(row.text)"}"#
                let answer = try await daemon.putSession("win-1", at: "http://127.0.0.1:9/hook", conditions)
                expectProblem(answer, 422, row.code)
                #expect(answer["side"].asString == side)
                #expect(answer["pointer"].asString == "/activationConditions/\(key)")
                #expect(answer["span", "offset"].asInt64 == row.offset, "\(answer.text)")
                if row.length > 0 { #expect(answer["span", "length"].asInt64 == row.length, "\(answer.text)") }
                let caret = try #require(answer["caret"].asString).split(separator: "\n")
                #expect(caret.count == 2 && caret.first.map(String.init) == row.text)
                #expect(caret.last?.contains("^") == true)
                expectProblem(try await daemon.session("win-1"), 404, "unknown-session")
            }
        }
    }

    @Test func placeOfTheFaultIsTold() async throws {
        try await withDaemon { daemon in
            let answer = try await daemon.putGallery(#"{"displayName":"a","displayName":"b"}"#)
            expectProblem(answer, 400, "json-duplicate-key")
            #expect(answer["offset"] == 19)
            let type = try await daemon.putGallery(#"{"delivery":{"timeoutSeconds":"15"}}"#)
            #expect(type["pointer"] == "/delivery/timeoutSeconds")
        }
    }

    @Test func methodsThatArePossibleAreTold() async throws {
        try await withDaemon { daemon in
            let answer = try await daemon.call(.post, TestDaemon.gallery, "{}")
            #expect(answer.headers[.allow] == "DELETE, GET, HEAD, PUT")
        }
    }

    /// Ids that are unusual but allowed: bytes are compared, and nothing is decoded twice.
    @Test(arguments: [
        "100%25", "%2525", "caf%C3%A9", "cafe%CC%81", "a%20b", "%E2%80%AE", "...", "%EF%BB%BFabc", "abc%EF%BB%BF",
        "a:b", "a%3Fb", "%23", "'%22",
    ])
    func unusualSessionIDsAreKept(encoded: String) async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            let created = try await daemon.putSession(encoded, at: "http://127.0.0.1:9/hook")
            #expect(created.status == 201, "\(created.text)")
            #expect(created.id.utf8.elementsEqual(try #require(encoded.percentDecoded).utf8))
            #expect(try await daemon.session(encoded).json == created.json)
            let other = encoded == "caf%C3%A9" ? "cafe%CC%81" : "caf%C3%A9"
            expectProblem(try await daemon.session(other), 404, "unknown-session")
        }
    }

    /// An id with a byte order mark and one without are two ids, in the path and in a query.
    @Test func aByteOrderMarkIsPartOfAnID() throws {
        #expect("%EF%BB%BFabc".percentDecoded.map { Array($0.utf8) } == [0xEF, 0xBB, 0xBF, 0x61, 0x62, 0x63])
        #expect("a%2Fb%20c".percentDecoded == "a/b c" && "a+b".percentDecoded == "a+b")
        for bad in ["%", "%4", "%GG", "a%FF", "%C3", "%ED%A0%80", "%-1", "%+1"] { #expect(bad.percentDecoded == nil) }
    }

    /// Clients that shorten paths would call something else.
    @Test(arguments: [".", "..", "%2E%2E"])
    func dotsAreNoSessionIDs(encoded: String) async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            let created = try await daemon.putSession(encoded, at: "http://127.0.0.1:9/hook")
            expectProblem(created, 400, "invalid-session-id")
        }
    }
}
