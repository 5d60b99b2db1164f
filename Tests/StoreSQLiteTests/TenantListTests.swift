import GRDB
import Router
import RouterPlugin
import Testing

@testable import StoreSQLite

/// Lists of one tenant beside the rows of others.
@Suite("Lists of one tenant")
struct TenantListTests {
    private static let mine = ApplicationID(unchecked: "com.a")
    private static let theirs = ApplicationID(unchecked: "com.b")

    private static func notification(_ number: Int64, of application: ApplicationID) -> NewNotification {
        var new = StoreSQLiteTests.notification(number)
        new.application = application
        new.contentID = ContentID(unchecked: "doc/secret")
        new.decision.session = SessionID(unchecked: "main")
        return new
    }

    /// Enough for listed segments: mostly others' rows, all with the same content and session.
    private static func filled(_ directory: TemporaryDirectory) throws -> SQLiteStore {
        let store = try SQLiteStore(path: directory.file())
        for start in stride(from: Int64(1), to: 5000, by: 500) {
            try store.commit(
                (start..<start + 500).map { .insert(notification($0, of: $0 % 100 == 7 ? mine : theirs)) })
        }
        let ended = (Int64(1)...2000).map { NotificationSequence($0) }
        try store.commit(ended.map { .settle($0, .cancelled, at: Timestamp(milliseconds: $0.value)) })
        return store
    }

    static let filters: [@Sendable (inout NotificationFilter) -> Void] = [
        { $0.contentID = ContentID(unchecked: "doc/secret") }, { $0.session = SessionID(unchecked: "main") },
        { $0.state = .cancelled }, { $0.state = .waiting }, { _ in },
    ]

    @Test("a list has the tenant's rows, a list without a tenant has all", arguments: filters.indices)
    func contents(_ number: Int) throws {
        let directory = try TemporaryDirectory()
        let store = try Self.filled(directory)
        for application in [Self.mine, Self.theirs, nil] {
            var filter = NotificationFilter(application: application)
            Self.filters[number](&filter)
            let found = try store.notifications(matching: filter, limit: 6000).map(\.sequence.value)
            let expected = (Int64(1)...5000).reversed().filter { number in
                let isMine = number % 100 == 7
                let isOfApplication = application.map { ($0 == Self.mine) == isMine } ?? true
                let isCancelled = number <= 2000
                return isOfApplication && (filter.state.map { ($0 == .cancelled) == isCancelled } ?? true)
            }
            #expect(found == expected)
            // In pages, too.
            filter.before = NotificationSequence(1507)
            let page = try store.notifications(matching: filter, limit: 5).map(\.sequence.value)
            #expect(page == Array(expected.filter { $0 < 1507 }.prefix(5)))
        }
    }

    /// SQLite counts the steps of its virtual machine: the measure that a loaded machine does not change.
    @Test("the work of a tenant's list does not depend on the rows of others", arguments: filters.indices)
    func work(_ number: Int) throws {
        let directory = try TemporaryDirectory()
        let store = try Self.filled(directory)
        // A tenant without rows asks for values that others have many rows of.
        var absent = NotificationFilter(application: ApplicationID(unchecked: "com.c"))
        Self.filters[number](&absent)
        let steps = try store.reading { db in
            try NotificationQuery(absent).parts.reduce(0) { try $0 + Self.steps($1, db) }
        }
        // The recent part, a segment at most, is looked through in any case.
        #expect(steps < 20 * 1024, "\(steps)")
    }

    private static func steps(_ part: NotificationQuery.Part, _ db: Database) throws -> Int {
        let statement = try PreparedStatement(db, part.sql)
        try statement.forEach({ part.bind(&$0, limit: 100) }) { _ in }
        return statement.takeSteps()
    }
}
