import RouterPlugin
import RouterdApp
import Testing

@testable import DaemonTesting

@Suite("Date header")
struct DateHeaderTests {
    @Test(arguments: [
        (784_111_777_000, "Sun, 06 Nov 1994 08:49:37 GMT"), (784_111_777_999, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (951_782_400_000, "Tue, 29 Feb 2000 00:00:00 GMT"),
    ])
    func isWrittenAsTheStandardHasIt(milliseconds: Int64, text: String) {
        #expect(DateHeader().text(at: Timestamp(milliseconds: milliseconds)) == text)
    }

    @Test func isWrittenAnewWhenItHasChanged() {
        let dates = DateHeader()
        #expect(dates.text(at: Timestamp(milliseconds: 1_000)).hasSuffix("00:00:01 GMT"))
        #expect(dates.text(at: Timestamp(milliseconds: 1_999)).hasSuffix("00:00:01 GMT"))
        #expect(dates.text(at: Timestamp(milliseconds: 2_000)).hasSuffix("00:00:02 GMT"))
        #expect(dates.text(at: Timestamp(milliseconds: 1_000)).hasSuffix("00:00:01 GMT"))
    }
}
