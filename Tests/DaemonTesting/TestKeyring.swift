import Foundation
import RouterdApp

/// Keys under which the tests seal secrets.
enum TestKeyring {
    /// Base64 of 32 bytes.
    static func key(_ number: UInt8) -> String { Data(repeating: number, count: 32).base64EncodedString() }

    static func of(_ numbers: UInt8...) throws -> SecretKeyring {
        try SecretKeyring(numbers.map(key).joined(separator: "\n"))
    }
}
