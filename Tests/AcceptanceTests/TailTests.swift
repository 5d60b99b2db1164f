import Glibc
import HTTPTypes
import RouterPlugin
import RouterdApp
import RouterdClient
import TestSupport
import Testing

@testable import DaemonTesting

/// `routerd tail` on a daemon of its own process.
@Suite("Tail", .longest)
struct TailTests {
    private static func put(_ session: String, _ daemon: ServedDaemon) async throws {
        let path = "\(TestDaemon.gallery)/sessions/\(session)"
        try await daemon.call(.put, path, #"{"endpoint":{"url":"http://127.0.0.1:1/"}}"#)
    }

    @Test(arguments: [false, true])
    func eventsArePrinted(asJSON: Bool) async throws {
        try await withServedDaemon { daemon in
            try await daemon.putGallery()
            let filter = ["--application", "com.example.gallery", "--type", "session.*", "--count", "2"]
            let tail = try Program(
                ["tail", "--server", daemon.address] + filter + (asJSON ? ["--json"] : []))
            _ = try await tail.line(beginning: "following ")
            try await daemon.putGallery()
            try await Self.put("A", daemon)
            try await daemon.call(.delete, "\(TestDaemon.gallery)/sessions/A")
            let ended = try await tail.ended()
            #expect(ended.status == 0)
            let lines = ended.output.split(separator: "\n")
            try #require(lines.count == 2)
            if asJSON {
                let values = try lines.map { try JSONValue(parsing: Array($0.utf8)) }
                #expect(values.map { $0["type"] } == ["session.registered", "session.discarded"])
                #expect(values.allSatisfy { $0["session"] == "A" })
            } else {
                #expect(
                    lines[0].hasSuffix(" session.registered com.example.gallery/A activationState=unattached"))
                #expect(lines[1].hasSuffix(" session.discarded com.example.gallery/A"))
            }
        }
    }

    @Test func aDaemonThatComesBackIsFollowedAgain() async throws {
        let directory = try TemporaryDirectory()
        let database = directory.file()
        let (program, port) = try await ServedDaemon.start(database: database)
        let tail = try Program([
            "tail", "--server", "http://127.0.0.1:\(port)", "--type", "session.*", "--count", "3", "--json",
        ])
        _ = try await tail.line(beginning: "following ")
        try await ServedDaemon.connected(to: program, port: port) { daemon in
            try await daemon.putGallery()
            try await Self.put("A", daemon)
        }
        _ = try await tail.line(beginning: #"{"id""#)
        program.send(SIGTERM)
        _ = try await program.ended()
        _ = try await tail.line(beginning: "the connection is lost")
        let again = try Program(["serve", "--listen", "127.0.0.1:\(port)", "--database", database])
        _ = try await again.line(beginning: "listening on ")
        // It prints a line when it has found the gap, which may be after a second.
        try await ServedDaemon.connected(to: again, port: port) { daemon in
            _ = try await tail.line(beginning: "following it again")
            try await Self.put("B", daemon)
        }
        let lines = try await tail.ended().output.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
        #expect(lines.map { $0["type"] } == ["session.registered", "gap", "session.registered"])
        #expect(lines.last?["session"] == "B")
        again.send(SIGTERM)
        _ = try await again.ended()
    }

    @Test func refusalsAreReported() async throws {
        try await withServedDaemon { daemon in
            var ended = try await Program.run("tail", "--server", daemon.address, "--type", "scene.wilConnect")
            #expect(ended.status == 1)
            #expect(ended.errors.hasPrefix("400 invalid-parameter: type must be one of "))
            ended = try await Program.run("tail", "--server", "http://127.0.0.1:1")
            #expect(ended.status == 1)
            #expect(ended.errors.hasPrefix("http://127.0.0.1:1 cannot be followed: "))
            ended = try await Program.run("tail", "--count", "0")
            #expect(ended.status == 2)
        }
    }

    @Test(arguments: [1, 2, 3, 7, 1000])
    func eventsAreFoundHoweverTheyAreCut(size: Int) {
        let text =
            ":\nid: r-1\n\nid: r-2\r\nevent: a\r\ndata: {\r\ndata:}\r\n\r\n: x\nevent: b\n\ndata\nid: r-3\n\nid: r-4\n"
        var reader = EventStreamReader()
        var events: [EventStreamReader.Event] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            events += reader.take(Array(rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        #expect(
            events == [
                EventStreamReader.Event(type: "a", data: Array("{\n}".utf8)),
                EventStreamReader.Event(type: "", data: []),
            ])
        #expect(reader.lastID == "r-3", "The last one has not ended.")
    }
}
