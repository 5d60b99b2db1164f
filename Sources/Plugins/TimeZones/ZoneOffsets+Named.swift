import Foundation
package import Router

extension ZoneOffsets {
    /// The years whose changes are known. Before and after them the nearest difference holds.
    private static let years: (first: Int64, last: Int64) = (1970, 2100)
    private static let yearSeconds: Int64 = 31_556_952

    /// The time zone of that name in the IANA database; nil if there is none.
    package init?(named name: String) {
        // Foundation also takes abbreviations, whose meaning is ambiguous, and differences such as GMT+3.
        guard name == "UTC" || name.contains("/"), let zone = TimeZone(identifier: name) else { return nil }
        let end = Date(timeIntervalSince1970: Double((Self.years.last - 1970) * Self.yearSeconds))
        var date = Date(timeIntervalSince1970: 0)
        let first = Int64(zone.secondsFromGMT(for: date))
        var (changes, last): ([(at: Int64, offset: Int64)], Int64) = ([], first)
        while let next = zone.nextDaylightSavingTimeTransition(after: date), next > date, next < end {
            date = next
            let offset = Int64(zone.secondsFromGMT(for: next))
            if offset != last { changes.append((Int64(next.timeIntervalSince1970), offset)) }
            last = offset
        }
        self.init(name: name, first: first, changes: changes)
    }
}
