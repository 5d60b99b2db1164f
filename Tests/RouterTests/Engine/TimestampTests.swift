import RouterPlugin
import Testing

@Suite("Timestamps")
struct TimestampTests {
    @Test(
        "RFC 3339 in UTC with milliseconds",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"),
            (1, "1970-01-01T00:00:00.001Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (-86_400_000, "1969-12-31T00:00:00.000Z"),
            (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
            (-2_203_977_600_000, "1900-02-28T00:00:00.000Z"),
            (-2_203_891_200_000, "1900-03-01T00:00:00.000Z"),
            (68_169_599_999, "1972-02-28T23:59:59.999Z"),
            (68_169_600_000, "1972-02-29T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (978_307_199_999, "2000-12-31T23:59:59.999Z"),
            (1_709_164_800_000, "2024-02-29T00:00:00.000Z"),
            (1_767_323_045_678, "2026-01-02T03:04:05.678Z"),
            (4_107_456_000_000, "2100-02-28T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] as [(Int64, String)])
    func rfc3339(milliseconds: Int64, text: String) {
        #expect(Timestamp(milliseconds: milliseconds).rfc3339 == text)
    }

    /// Counting the days of 800 years one by one is slow and plain, and shares nothing with the arithmetic of eras.
    @Test("Every day from 1600 to 2399 is the day after the one before")
    func everyDay() {
        var (year, month, day) = (1600, 1, 1)
        var milliseconds: Int64 = -11_676_096_000_000
        while year < 2400 {
            let expected = "\(year)-\(padded(month))-\(padded(day))T12:00:00.000Z"
            let found = Timestamp(milliseconds: milliseconds + 43_200_000).rfc3339
            guard found == expected else {
                Issue.record("\(found) should be \(expected)")
                return
            }
            milliseconds += 86_400_000
            day += 1
            if day > length(of: month, in: year) { (month, day) = (month + 1, 1) }
            if month > 12 { (year, month) = (year + 1, 1) }
        }
    }

    @Test("Advancing saturates instead of overflowing")
    func saturation() {
        #expect(Timestamp.distantFuture.advanced(byMilliseconds: 1) == .distantFuture)
        #expect(Timestamp(milliseconds: .min).advanced(byMilliseconds: -1).milliseconds == .min)
        #expect(Timestamp(milliseconds: 5).advanced(byMilliseconds: -7).milliseconds == -2)
    }

    private func length(of month: Int, in year: Int) -> Int {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
    }

    private func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : String(number) }
}
