import HTTPTypes
import Hummingbird
import NIOCore
import NIOEmbedded
import Router
import RouterPlugin
import Synchronization
import TestSupport
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// Many items in one request: a line each, and a bad line fails alone.
@Suite("Batches", .longest)
struct BatchTests {
    private static let endpoint = #""endpoint":{"url":"http://127.0.0.1:9/hook","secret":"\#(Receiver.secret)"}"#

    @Test func badSessionsFailAloneAndOrderIsKept() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            let rows: [(line: String, status: Int64, id: JSONValue, code: JSONValue)] = [
                (#"{"id":"a",\#(Self.endpoint)}"#, 201, "a", .null),
                (#"{"id":"b""#, 400, .null, "json-unexpected-end"),
                (#"{"id":"c",\#(Self.endpoint)}"#, 201, "c", .null),
                (#"{\#(Self.endpoint)}"#, 422, .null, "missing-field"),
                (#"[]"#, 400, .null, "not-an-object"),
                (#"{"id":"d"}"#, 422, "d", "endpoint-missing"),
                (#"{"id":"a",\#(Self.endpoint),"device":"new"}"#, 200, "a", .null),
                (#"{"id":"e",\#(Self.endpoint),"colour":1}"#, 400, "e", "unknown-field"),
                (#"{"id":"x/y",\#(Self.endpoint)}"#, 400, "x/y", "invalid-session-id"),
                (
                    #"{"id":"f",\#(Self.endpoint),"#
                        + #""activationConditions":{"canActivateForTargetContentIdentifierPredicate":"SELF =="}}"#,
                    422, "f", "unexpected-end"
                ),
                (#"{"id":"g","endpoint":{"url":"http://127.0.0.1:9/hook"}}"#, 201, "g", .null),
            ]
            // Empty lines and Windows line ends are skipped.
            let body = "\n" + rows.map(\.line).joined(separator: "\r\n\n") + "\n \n"
            let answer = try await daemon.call(.post, "\(TestDaemon.gallery)/sessions:batch", body)
            #expect(answer.status == 200)
            #expect(answer.headers[.contentType] == "application/x-ndjson")
            let lines = try answer.lines
            #expect(lines.count == rows.count)
            for (line, row) in zip(lines, rows) {
                #expect(line.at("status").asInt64 == row.status, "\(row.line): \(line)")
                #expect(line.at("id") == row.id, "\(row.line): \(line)")
                #expect(line.at("error", "code") == row.code, "\(row.line): \(line)")
            }
            #expect(lines.last?.at("secret").asString?.hasPrefix("whsec_") == true)
            #expect(lines.first?.at("secret") == .null, "a supplied secret is not told again")
            #expect(try await daemon.call(.get, "\(TestDaemon.gallery)/sessions").ids("sessions") == ["a", "c", "g"])
            #expect(try await daemon.session("a")["device"] == "new")
        }
    }

    /// A batch of `lines` lines, of which the last is bad. Records how many commands were submitted at a time; after
    /// `chunksTaken` chunks the engine has no room.
    private static func batch(lines: Int, chunksTaken: Int = .max, _ submitted: Submitted) -> BatchAnswers {
        let body = (0..<lines).map { $0 == lines - 1 ? "bad" : "line \($0)" }.joined(separator: "\n \r\n")
        let batch = BatchRequest(
            application: ApplicationID(unchecked: "gallery"), source: PluginID(unchecked: "test"),
            lines: Lines(of: Array("\n\(body)\n\n".utf8)))
        let turns = TenantSlots(slots: 1, share: 1, waitingLimit: 0)
        return BatchAnswers(to: batch, in: turns) { line, _ throws(Problem) in
            if line == Array("bad".utf8) { throw .unexpectedReply }
            return BatchItem(command: .cancelReplay(ReplayID(unchecked: "r"))) { _ in Array(#"{"status":202}"#.utf8) }
        } naming: {
            String(decoding: $0.filter { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
        } submitting: { commands in
            let chunks = submitted.counts.withLock { counts in
                counts.append(commands.count)
                return counts.count
            }
            return chunks > chunksTaken ? nil : commands.map { _ in .none }
        }
    }

    private final class Submitted: Sendable {
        let counts = Mutex<[Int]>([])
    }

    @Test func aBatchBeyondALimitIsRefusedWholeOrFromALineOn() async throws {
        let lines = 2 * DaemonLimits.batchLines + 1
        var refused = Self.batch(lines: lines, chunksTaken: 0, Submitted())
        await #expect(throws: Problem.self) { try await refused.next() }
        let submitted = Submitted()
        var batch = Self.batch(lines: lines, chunksTaken: 1, submitted)
        var answers: [JSONValue] = []
        while let chunk = try await batch.next() {
            answers += try chunk.readableBytesView.split(separator: UInt8(ascii: "\n")).map {
                try JSONValue(parsing: Array($0))
            }
        }
        #expect(answers.count == lines)
        #expect(answers.prefix(DaemonLimits.batchLines).allSatisfy { $0.at("status") == 202 })
        let late = answers.dropFirst(DaemonLimits.batchLines).dropLast()
        #expect(late.allSatisfy { $0.at("status") == 503 && $0.at("error", "code") == "overloaded" })
        #expect(late.first?.at("id").asString == "line \(DaemonLimits.batchLines)")
        #expect(answers.last?.at("status") == 500, "A line that cannot be read says so.")
        let counts = submitted.counts.withLock(\.self)
        #expect(counts == [DaemonLimits.batchLines, DaemonLimits.batchLines, 0], "Nothing comes in out of order.")
    }

    /// Reads a number of pieces of an answer, and disconnects.
    private struct LeavingClient: ResponseBodyWriter {
        struct Gone: Error {}
        var pieces: Int

        mutating func write(_ buffer: ByteBuffer) throws {
            pieces -= 1
            if pieces < 0 { throw Gone() }
        }

        consuming func finish(_ trailingHeaders: HTTPFields?) {}
    }

    @Test func nothingIsDoneBeforeTheAnswersToWhatCameBeforeAreTaken() async throws {
        let channel = NIOAsyncTestingChannel()
        let submitted = Submitted()
        let batch = Self.batch(lines: 9 * DaemonLimits.batchLines, submitted)
        let response = try await batch.response(over: channel)
        #expect(response.status == .ok && submitted.counts.withLock(\.count) == 1)
        await #expect(throws: LeavingClient.Gone.self) { try await response.body.write(LeavingClient(pieces: 3)) }
        #expect(submitted.counts.withLock(\.count) == 4, "Requests of a closed connection are not carried out.")
        // A batch of few lines is done at once, and its answer has a length.
        let few = try await Self.batch(lines: 3, Submitted()).response(over: channel)
        #expect(few.body.contentLength != nil)
    }

    @Test func aClientThatReadsNothingIsCutOff() async throws {
        let channel = NIOAsyncTestingChannel()
        let closed = Atomic(false)
        channel.closeFuture.whenComplete { _ in closed.store(true, ordering: .relaxed) }
        let response = try await Self.batch(lines: 9 * DaemonLimits.batchLines, Submitted()).response(over: channel)
        await #expect(throws: LeavingClient.Gone.self) { try await response.body.write(LeavingClient(pieces: 2)) }
        await channel.testingEventLoop.advanceTime(by: .seconds(DaemonLimits.answerSeconds - 1))
        let wasClosed = closed.load(ordering: .relaxed)
        #expect(!wasClosed)
        await channel.testingEventLoop.advanceTime(by: .seconds(1))
        let isClosed = closed.load(ordering: .relaxed)
        #expect(isClosed)
    }

    /// Reads a piece after a pause, for as long as it is connected.
    private struct SlowClient: ResponseBodyWriter {
        let channel: NIOAsyncTestingChannel
        let taken: Tally

        mutating func write(_ buffer: ByteBuffer) async throws {
            taken.add()
            await channel.testingEventLoop.advanceTime(by: .seconds(DaemonLimits.answerSeconds - 1))
            guard channel.isActive else { throw LeavingClient.Gone() }
        }

        consuming func finish(_ trailingHeaders: HTTPFields?) {}
    }

    @Test func aClientThatReadsTooSlowlyIsCutOff() async throws {
        let channel = NIOAsyncTestingChannel()
        try await channel.connect(to: .init(ipAddress: "127.0.0.1", port: 1))
        let taken = Tally()
        let response = try await Self.batch(lines: 9 * DaemonLimits.batchLines, Submitted()).response(over: channel)
        await #expect(throws: LeavingClient.Gone.self) {
            try await response.body.write(SlowClient(channel: channel, taken: taken))
        }
        #expect(taken.count == 1 + Int(DaemonLimits.requestSeconds / (DaemonLimits.answerSeconds - 1)))
    }

    @Test func aCompressedBodyIsNotTaken() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            for path in ["sessions:batch", "notifications:batch", "notifications"] {
                func post(_ coding: String) async throws -> Answer {
                    try await daemon.call(
                        .post, "\(TestDaemon.gallery)/\(path)", "{}", headers: ["content-encoding": coding])
                }
                for coding in ["GZIP", "gzip, identity", "identity,br", "deflate,"] {
                    expectProblem(try await post(coding), 415, "content-encoding-not-supported")
                }
                #expect(try await [200, 202].contains(post("identity").status))
                #expect(try await [200, 202].contains(post("utf-8").status))
            }
        }
    }

    /// Lines so long that a turn holds two, though 128 may share one.
    @Test func longLinesHaveShortTurns() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            let padding = String(repeating: "p", count: DaemonLimits.batchTurnBytes / 2 - 36)
            let lines = (0..<6).map { #"{"id":"s\#($0)","userInfo":{"padding":"\#(padding)"},\#(Self.endpoint)}"# }
            let before = daemon.store.commits.count
            let answer = try await daemon.call(
                .post, "\(TestDaemon.gallery)/sessions:batch", lines.joined(separator: "\n"))
            #expect(try answer.lines.map { $0.at("id").asString } == (0..<6).map { "s\($0)" })
            #expect(daemon.store.commits.count == before + 3)
        }
    }

    /// The sessions of a turn are planned one after the other, each with the results of those before it.
    @Test func oneSceneOnlyIsOneInABatchToo() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery(#"{"manifest":{"supportsMultipleScenes":false}}"#)
            let lines = (0..<4).map { #"{"id":"s\#($0)",\#(Self.endpoint)}"# }
            let answer = try await daemon.call(
                .post, "\(TestDaemon.gallery)/sessions:batch", lines.joined(separator: "\n"))
            #expect(try answer.lines.map { $0.at("status").asInt64 } == [201, 409, 409, 409])
        }
    }

    @Test func aBatchUnderTheSameKeyIsAnsweredTheSame() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            func post(_ lines: [String], key: String) async throws -> Answer {
                try await daemon.call(
                    .post, "\(TestDaemon.gallery)/sessions:batch", lines.joined(separator: "\n"),
                    headers: ["idempotency-key": key])
            }
            let lines = [
                #"{"id":"a",\#(Self.endpoint)}"#, #"{"id":"#,
                #"{"id":"g","endpoint":{"url":"http://127.0.0.1:9/hook"}}"#,
            ]
            let first = try await post(lines, key: "k")
            #expect(try first.lines.map { $0.at("status").asInt64 } == [201, 400, 201])
            try await daemon.call(.patch, "\(TestDaemon.gallery)/sessions/a", #"{"device":"new"}"#)
            let again = try await post(lines, key: "k").lines
            #expect(again.map { $0.at("id") } == (try first.lines.map { $0.at("id") }))
            #expect(again.map { $0.at("status").asInt64 } == [201, 400, 201])
            #expect(try first.lines[2].at("secret") != .null)
            #expect(again[2].at("secret") == .null, "it may be another by now")
            #expect(try await daemon.session("a")["device"] == "new", "nothing is done twice")
            // Another batch under the same key, even one with the same beginning.
            for other in [[#"{"id":"z",\#(Self.endpoint)}"#], lines + [#"{"id":"z",\#(Self.endpoint)}"#]] {
                expectProblem(try await post(other, key: "k"), 409, "idempotency-conflict")
            }
            #expect(try await daemon.session("z").status == 404)
            let replaced = try await post(lines, key: "l")
            #expect(try replaced.lines.map { $0.at("status").asInt64 } == [200, 400, 200])
            try await daemon.call(.patch, "\(TestDaemon.gallery)/sessions/a", #"{"device":"newer"}"#)
            #expect(try await post(lines, key: "l").bytes == replaced.bytes)
            #expect(try await daemon.session("a")["device"] == "newer")
            expectProblem(try await post(lines, key: ""), 400, "bad-idempotency-key")
        }
    }

    @Test func manySessionsAreReadBack() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            let lines = (0..<1000).map { #"{"id":"s\#($0)",\#(Self.endpoint)}"# }
            let answer = try await daemon.call(
                .post, "\(TestDaemon.gallery)/sessions:batch", lines.joined(separator: "\n"))
            #expect(try answer.lines.map { $0.at("id").asString } == (0..<1000).map { "s\($0)" })
            let listed = try await daemon.call(.get, "\(TestDaemon.gallery)/sessions?limit=1000")
            #expect(listed.ids("sessions").count == 1000)
            #expect(daemon.store.commits.count < 20, "a chunk shares a transaction")
        }
    }

    @Test func badNotificationsFailAloneAndOrderIsKept() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url())
            let rows: [(line: String, code: JSONValue)] = [
                (#"{"notification-content-id":"n/0","n":0}"#, .null),
                (#"{"n":"#, "json-unexpected-end"),
                (#"{"notification-content-id":"n/2","n":2}"#, .null),
                (#"{"notification-content-id":7}"#, "content-id-not-a-string"),
                (#"[1]"#, "payload-not-an-object"),
                (#"{"a":1,"a":2}"#, "json-duplicate-key"),
                (#"{"notification-content-id":"n/6","n":6}"#, .null),
            ]
            let answer = try await daemon.call(
                .post, "\(TestDaemon.gallery)/notifications:batch", rows.map(\.line).joined(separator: "\n"))
            #expect(answer.status == 200)
            let lines = try answer.lines
            #expect(lines.map { $0.at("error", "code") } == rows.map(\.code))
            for line in lines where line.at("error") == .null {
                #expect(line.at("state") == "waiting")
                #expect(line.at("decision", "session") == "win-1")
            }
            #expect(try await receiver.webhooks(3).map(\.contentID) == ["n/0", "n/2", "n/6"])
            #expect(try daemon.store.census().accepted == 3)
        }
    }

    @Test func keysOfBatchesAndOfSingleNotificationsAreApart() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url())
            func post(_ lines: String, key: String, query: String = "") async throws -> Answer {
                try await daemon.call(
                    .post, "\(TestDaemon.gallery)/notifications:batch\(query)", lines,
                    headers: ["idempotency-key": key])
            }
            let first = try await post("{}\n{\"n\":1}", key: "k").lines
            #expect(first.map { $0.at("state") } == ["waiting", "waiting"])
            let again = try await post("{}\n{\"n\":1}", key: "k").lines
            #expect(again.map { $0.at("duplicate") } == [true, true])
            #expect(again.map { $0.at("id") } == first.map { $0.at("id") })
            expectProblem(try await post("{}", key: "k"), 409, "idempotency-conflict")
            expectProblem(
                try await post("{}\n{\"n\":1}", key: "k", query: "?device=d"), 409, "idempotency-conflict")
            for key in ["k", "k#1", "line:1:k", "batch:k"] {
                let single = try await daemon.post("{}", headers: ["idempotency-key": key])
                #expect(single.status == 202, "\(key) is a key of its own")
            }
            #expect(try daemon.store.census().accepted == 6)
        }
    }

    @Test func anEmptyBatchIsNothing() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            for noun in ["sessions", "notifications"] {
                let answer = try await daemon.call(.post, "\(TestDaemon.gallery)/\(noun):batch", "")
                #expect(answer.status == 200 && answer.bytes.isEmpty)
            }
        }
    }

    @Test func anUnknownApplicationIsTold() async throws {
        try await withDaemon { daemon in
            for noun in ["sessions", "notifications"] {
                let line = noun == "sessions" ? #"{"id":"a",\#(Self.endpoint)}"# : "{}"
                for headers in [[:], ["idempotency-key": "k"]] {
                    let path = "/v1/applications/nobody/\(noun):batch"
                    let answer = try await daemon.call(.post, path, line, headers: headers)
                    expectProblem(answer, 404, "unknown-application")
                }
            }
        }
    }
}
