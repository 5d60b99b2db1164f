import GRDB
import GRDBSQLite
import Router

/// The checksum of a row, as a function of SQL.
///
///     row_sum(value, value, …)     32 bits of the values and their places
///
/// NULL adds nothing, so the sums of rows stay valid when a table gets a column at its end that is NULL in them. The sum
/// finds damage of the disk, of the memory and of other programs: it is no protection against an attacker who writes to the
/// file. A damaged row has a valid sum with a probability of 1 in 2^32.
enum RowSum {
    /// The name of the SQL function.
    static let function = "row_sum"

    /// Makes the function known to a connection.
    static func install(on db: Database) throws {
        let code = sqlite3_create_function_v2(
            db.sqliteConnection, function, -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nil,
            { context, count, values in RowSum.answer(context, count, values) }, nil, nil, nil)
        guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    }

    private static func answer(
        _ context: OpaquePointer?, _ count: CInt, _ values: UnsafeMutablePointer<OpaquePointer?>?
    ) {
        var sum = Sum()
        for place in 0..<Int(count) {
            guard let value = values?[place] else { continue }
            switch sqlite3_value_type(value) {
            case SQLITE_NULL: continue
            case SQLITE_INTEGER: sum.absorb(place, sqlite3_value_int64(value))
            case let type:
                // The pointer comes first: asking for it may convert the value, and with it the count.
                let start = sqlite3_value_blob(value)
                let bytes = UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))
                sum.absorb(place, kind: type, bytes)
            }
        }
        sqlite3_result_int64(context, Int64(sum.value))
    }

    /// The sum of the values so far.
    private struct Sum {
        private var state: UInt64 = 0x9e37_79b9_7f4a_7c15

        mutating func absorb(_ place: Int, _ number: Int64) {
            mix(UInt64(place) << 8 | UInt64(SQLITE_INTEGER))
            mix(UInt64(bitPattern: number))
        }

        mutating func absorb(_ place: Int, kind: CInt, _ bytes: UnsafeRawBufferPointer) {
            mix(UInt64(bytes.count) << 16 | UInt64(place) << 8 | UInt64(kind))
            let whole = bytes.count & ~7
            for offset in stride(from: 0, to: whole, by: 8) {
                mix(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
            }
            if whole < bytes.count {
                var rest: UInt64 = 0
                for index in (whole..<bytes.count).reversed() { rest = rest << 8 | UInt64(bytes[index]) }
                mix(rest)
            }
        }

        var value: Int32 {
            var end = self
            end.mix(0xff51_afd7_ed55_8ccd)
            return Int32(truncatingIfNeeded: end.state ^ end.state >> 32)
        }

        /// Multiplies, and folds the halves of the product.
        private mutating func mix(_ word: UInt64) {
            let product = (state ^ word).multipliedFullWidth(by: 0xa076_1d64_78bd_642f)
            state = (product.high ^ product.low) &+ 0xe703_7ed1_a0b4_28db
        }
    }
}

/// A row whose checksum is not that of its values.
struct DamagedRow: Error {}

extension ColumnReader {
    /// Reads the column `CheckedTable.isSound`.
    mutating func expectSound() throws {
        guard bool() else { throw DamagedRow() }
    }
}
