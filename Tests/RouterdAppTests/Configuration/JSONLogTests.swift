import Logging
import RouterPlugin
import RouterdApp
import Synchronization
import Testing

@Suite("Log for programs")
struct JSONLogTests {
    private struct Opaque: CustomStringConvertible {
        let description = "a \"thing\""
    }

    @Test("A line is one JSON object with the metadata after time, level and message")
    func oneObjectALine() throws {
        let (logger, lines) = Self.logger()
        logger.notice(
            "endpoint fails",
            metadata: [
                "session": "win\n\"7\"", "status": .stringConvertible(503), "isReused": .stringConvertible(true),
                "share": .stringConvertible(0.5), "thing": .stringConvertible(Opaque()),
                "list": .array(["a", .stringConvertible(1)]), "table": .dictionary(["b": "2", "a": "1"]),
            ])
        let line = try #require(lines.all.first)
        #expect(lines.all.count == 1 && !line.contains("\n"))
        let object = try #require(try JSONValue(parsing: Array(line.utf8)).asObject)
        #expect(
            object.members.map(\.key) == [
                "time", "level", "message", "isReused", "list", "session", "share", "status", "table", "thing",
            ])
        #expect(object["time"]?.asString?.hasSuffix("Z") == true)
        #expect(object["level"] == "notice" && object["message"] == "endpoint fails")
        #expect(object["session"] == "win\n\"7\"" && object["status"] == 503 && object["isReused"] == true)
        #expect(object["thing"] == "a \"thing\"" && object["list"] == ["a", 1])
        #expect(object["table"] == ["a": "1", "b": "2"])
    }

    @Test("Metadata does not take the place of time, level or message")
    func reservedNames() throws {
        let (logger, lines) = Self.logger()
        logger.notice("starting", metadata: ["time": "never", "level": "none", "message": "other"])
        let object = try JSONValue(parsing: Array(try #require(lines.all.first).utf8))
        #expect(object["message"] == "starting" && object["metadata.message"] == "other")
        #expect(object["level"] == "notice" && object["metadata.level"] == "none")
        #expect(object["metadata.time"] == "never")
    }

    @Test("Lines below the level are not written, and metadata of the logger is")
    func levelAndOwnMetadata() throws {
        var (logger, lines) = Self.logger()
        logger[metadataKey: "daemon"] = "a"
        logger.debug("hidden")
        logger.info("shown", metadata: ["daemon": "b"])
        logger.info("shown")
        #expect(lines.all.map { $0.hasSuffix(#","daemon":"b"}"#) } == [true, false])
        #expect(lines.all.last?.hasSuffix(#","daemon":"a"}"#) == true)
    }

    private static func logger() -> (Logger, Lines) {
        let lines = Lines()
        return (LogFormat.json.logger(at: .info) { lines.add($0) }, lines)
    }
}

private final class Lines: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func add(_ line: String) { lines.withLock { $0.append(line) } }
}
