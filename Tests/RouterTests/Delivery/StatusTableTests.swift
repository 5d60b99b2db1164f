import Router
import Testing

@Suite("Status table")
struct StatusTableTests {
    private static func table(_ rules: [(String, String)]) throws -> StatusTable {
        var table = StatusTable()
        for (pattern, action) in rules { try table.add(pattern, action) }
        return table
    }

    @Test("A rule for a status takes precedence over one for its hundred, and both over the default")
    func precedence() throws {
        let table = try Self.table([("4xx", "retry"), ("404", "deadLetter"), ("503", "wait")])
        for status in 100..<600 {
            let result = TransferResult.status(status, retryAfter: 9)
            let usual = ResponseClass(result.outcome)
            let expected: StatusAction =
                switch status {
                case 404: .deadLetter
                case 400..<500: .retry
                case 503: .wait
                default: usual.action
                }
            #expect(ResponseClass(result.outcome, statuses: table).action == expected, "\(status)")
        }
        #expect(
            ResponseClass(TransferResult.status(503, retryAfter: 9).outcome, statuses: table)
                == .backPressure(retryAfterSeconds: 9))
        #expect(ResponseClass(TransferResult.status(401).outcome, statuses: table) == .unauthorized, "It is usual.")
        #expect(ResponseClass(TransferResult.failure(.timedOut).outcome, statuses: table) == .unreachable(.timedOut))
    }

    @Test("Every action can be configured", arguments: StatusAction.allCases)
    func actions(action: StatusAction) throws {
        let table = try Self.table([("404", action.rawValue)])
        #expect(ResponseClass(TransferResult.status(404).outcome, statuses: table).action == action)
        #expect(table.words.map(\.pattern) == ["404"] && table.words.map(\.action) == [action.rawValue])
    }

    @Test(
        "Invalid rules",
        arguments: [
            ("200", "retry", .unknownStatus("200")), ("2xx", "retry", .unknownStatus("2xx")),
            ("600", "retry", .unknownStatus("600")), ("6xx", "retry", .unknownStatus("6xx")),
            ("40", "retry", .unknownStatus("40")), ("4040", "retry", .unknownStatus("4040")),
            ("4x", "retry", .unknownStatus("4x")), ("4XX", "retry", .unknownStatus("4XX")),
            ("4 4", "retry", .unknownStatus("4 4")), ("", "retry", .unknownStatus("")),
            ("404", "ignore", .unknownAction("ignore")), ("404", "", .unknownAction("")),
            ("302", "deliver", .redirectAsSuccess("302")), ("3xx", "deliver", .redirectAsSuccess("3xx")),
        ] as [(String, String, StatusTable.InvalidRule)])
    func invalid(pattern: String, action: String, error: StatusTable.InvalidRule) {
        #expect(throws: error) { try Self.table([(pattern, action)]) }
    }

    @Test("Rules are listed in one order, however they were added")
    func words() throws {
        let rules = [("5xx", "wait"), ("500", "retry"), ("3xx", "deadLetter"), ("404", "moveOn")]
        let (one, other) = (try Self.table(rules), try Self.table(rules.reversed()))
        #expect(one == other && one.words.map(\.pattern) == ["404", "500", "3xx", "5xx"])
        #expect(other.words.map(\.pattern) == one.words.map(\.pattern))
    }

    // MARK: The guide

    /// The rows of the guide's table of outcomes: the outcomes, and the action.
    private static func guideRows() throws -> [(outcomes: String, action: String)] {
        let guide = try ProjectText.read("docs/DELIVERY.md")
        let section = try #require(guide.components(of: "## What an answer means").last)
        let table = try #require(section.components(of: "\n\n").dropFirst().first)
        return table.split(separator: "\n").dropFirst(2).map { line in
            let cells = line.split(separator: "|").map { $0.split(separator: " ").joined(separator: " ") }
            return (cells[0], String(cells[1].filter { $0 != "`" }))
        }
    }

    private static func covers(_ outcomes: String, _ status: Int) -> Bool {
        if outcomes == "any other status" { return true }
        return outcomes.split(separator: ",").contains { part in
            let ends = part.split(separator: "–").compactMap { Int($0.filter(\.isNumber)) }
            guard let first = ends.first, let last = ends.last, !part.contains("`") else { return false }
            return (first...last).contains(status)
        }
    }

    @Test("The guide and the code agree on every status")
    func guideOfStatuses() throws {
        let rows = try Self.guideRows()
        for status in 0..<1000 {
            let row = rows.first { Self.covers($0.outcomes, status) }
            let action = ResponseClass(TransferResult.status(status).outcome).action
            #expect(row?.action == action.rawValue, "\(status)")
        }
    }

    @Test("The guide and the code agree on every failure", arguments: TransferFailure.Kind.allCases)
    func guideOfFailures(kind: TransferFailure.Kind) throws {
        let row = try #require(try Self.guideRows().first { $0.outcomes.contains("`\(kind.rawValue)`") })
        #expect(row.action == ResponseClass(TransferResult.failure(kind).outcome).action.rawValue)
        let guide = try ProjectText.read("docs/DELIVERY.md")
        let paragraph = try #require(guide.components(of: "An attempt may have arrived if").last)
        let names = try #require(paragraph.components(of: "504").first)
        #expect(names.contains("`\(kind.rawValue)`") == kind.isAmbiguous)
    }

    @Test("The guide explains every action", arguments: StatusAction.allCases)
    func guideOfActions(action: StatusAction) throws {
        #expect(try ProjectText.read("docs/DELIVERY.md").contains("\n| `\(action.rawValue)` | "))
    }
}
