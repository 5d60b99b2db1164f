import Router
import RouterPlugin
import Testing

@testable import StoreSQLite

@Suite("Parts of a recovery") struct RecoveryPartsTests {
    @Test(
        "unsettled notifications are recovered in order, however far apart they are",
        arguments: [
            ([], []), ([7], []), ([], [7]), ([1, 2, 8192, 8193, 8194], [16_384, 16_385]),
            ([3, 40_000, 40_001], [2, 10_003, 99_999]), ([1, 1_000_000], [250_000, 250_001, 500_000, 750_001]),
        ])
    func order(waiting: [Int64], held: [Int64]) throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file())
        var new = waiting.map { notification($0) }
        for sequence in held {
            var notification = notification(sequence)
            notification.placement = .held(until: Timestamp(milliseconds: 1_800_000_000_000))
            new.append(notification)
        }
        try store.commit(new.sorted { $0.sequence < $1.sequence }.map { .insert($0) })
        let unsettled = try store.recover().unsettled
        #expect(unsettled.map(\.sequence.value) == (waiting + held).sorted())
        #expect(unsettled.filter(\.isHeld).map(\.sequence.value) == held)
        try store.close()
    }
}
