import Router
import RouterPlugin

/// An API key in the configuration file.
enum APIKeyEntry {
    /// Reads a key, or reports all of its faults.
    static func read(_ value: JSONValue, at pointer: String) -> (key: APIKey?, faults: [Problem]) {
        var faults = FaultList()
        guard var reader = faults.gather({ () throws(Problem) in try ObjectReader(value, at: pointer) }) else {
            return (nil, faults.problems)
        }
        let name = faults.gather { () throws(Problem) in
            guard let name = try reader.string("name"), !name.isEmpty else { throw reader.missing("name") }
            return name
        }
        let scopes = faults.gather { () throws(Problem) in try Self.scopes(&reader) }
        let application = faults.gather { () throws(Problem) in
            try reader.identifier("application", of: IdentifierKinds.Application.self)
        }
        let digest = faults.gather { () throws(Problem) in
            guard let digest = try Self.digest(&reader) else { throw reader.missing("sha256") }
            return digest
        }
        let perSecond = faults.gather { () throws(Problem) in
            try reader.integer("requestsPerSecond", in: 1...Int64(DaemonLimits.requestsPerSecondMaximum))
        }
        faults.gather { () throws(Problem) in try reader.finish() }
        guard faults.problems.isEmpty, let name, let scopes, let digest else { return (nil, faults.problems) }
        let key = APIKey(
            name: name, digest: digest, scopes: scopes, application: application ?? nil,
            requestsPerSecond: perSecond ?? nil)
        return (key, [])
    }

    static func scopes(_ reader: inout ObjectReader) throws(Problem) -> Set<APIScope> {
        var scopes: Set<APIScope> = []
        let known = APIScope.allCases.map(\.rawValue).joined(separator: ", ")
        guard let texts = try reader.strings("scopes", atMost: 8) else { throw reader.missing("scopes") }
        for text in texts {
            guard let scope = APIScope(rawValue: text) else { throw reader.invalid("scopes", "may hold \(known)") }
            scopes.insert(scope)
        }
        guard !scopes.isEmpty else { throw reader.invalid("scopes", "must hold at least one of \(known)") }
        return scopes
    }

    static func digest(_ reader: inout ObjectReader) throws(Problem) -> [UInt8]? {
        guard let text = try reader.string("sha256") else { return nil }
        guard let digest = hexadecimal(text), digest.count == 32 else {
            throw reader.invalid("sha256", "must be the 64 hexadecimal digits of the key's SHA-256")
        }
        return digest
    }

    private static func hexadecimal(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for place in stride(from: 0, to: digits.count, by: 2) {
            guard let byte = UInt8(String(decoding: digits[place...place + 1], as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(byte)
        }
        return bytes
    }
}
