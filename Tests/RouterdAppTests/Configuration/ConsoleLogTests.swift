import Logging
import RouterdApp
import Synchronization
import Testing

@Suite("Console log")
struct ConsoleLogTests {
    @Test func aLineWithoutDetailsEndsWithItsMessage() throws {
        let tally = Lines()
        let logger = LogFormat.text.logger(at: .info) { tally.add($0) }
        logger.notice("starting")
        logger.notice("starting", metadata: ["b": "2", "a": "1\n2\u{1B}"])
        let lines = tally.all
        #expect(lines.count == 2 && lines[0].hasSuffix(" notice   starting"), "\(lines)")
        #expect(lines[1].hasSuffix(" notice   starting  a=1\\n2\u{FFFD} b=2"), "\(lines)")
    }
}

private final class Lines: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func add(_ line: String) { lines.withLock { $0.append(line) } }
}
