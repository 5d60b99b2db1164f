import Router
import RouterPlugin
import Testing

@testable import DaemonTesting
@testable import RouterdApp

@Suite("Log lines about endpoints")
struct EndpointReportsTests {
    private let session = SessionKey(
        application: ApplicationID(unchecked: "gallery"), session: SessionID(unchecked: "s"))

    private func lines(_ results: [(second: Int, kind: TransferFailure.Kind?)]) -> [Substring] {
        let log = CapturedLog()
        var reports = EndpointReports(logger: log.logger)
        for (second, kind) in results {
            let outcome: TransferResult.Outcome =
                kind.map { .failure(TransferFailure(kind: $0, message: "why")) }
                ?? .response(ReceivedResponse(status: 204))
            reports.add(
                TransferResult(outcome: outcome), of: session, StatusTable(),
                at: Timestamp(milliseconds: 1_000_000 + Int64(second) * 1000))
        }
        return log.text.split(separator: "\n").map { $0.prefix { $0 != "[" } }
    }

    @Test func eachTurnIsALine() {
        let fails = "notice endpoint fails; its deliveries wait or move on "
        let takes = "notice endpoint takes deliveries again "
        #expect(
            lines([(0, .timedOut), (1, .connectFailed), (2, nil), (3, nil), (4, .timedOut)]).map(String.init)
                == [fails, takes, fails])
    }

    @Test func aShortageIsALineAMinute() {
        let short = lines([
            (0, .noSocket), (1, .noSocket), (30, nil), (59, .noSocket), (60, .noSocket), (61, .noSocket),
        ])
        #expect(short.count == 2)
        #expect(short.allSatisfy { $0.hasPrefix("warning attempts cannot be made for want of") })
    }
}
