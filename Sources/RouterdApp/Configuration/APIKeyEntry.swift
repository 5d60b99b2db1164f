import RouterPlugin

/// An API key in the file.
enum APIKeyEntry {
    static func read(_ value: JSONValue, at pointer: String) throws(Problem) -> APIKey {
        var reader = try ObjectReader(value, at: pointer)
        guard let name = try reader.string("name"), !name.isEmpty else { throw reader.missing("name") }
        var scopes: Set<APIScope> = []
        for text in try reader.strings("scopes", atMost: 8) ?? [] {
            guard let scope = APIScope(rawValue: text) else {
                throw reader.invalid("scopes", "may hold \(APIScope.allCases.map(\.rawValue).joined(separator: ", "))")
            }
            scopes.insert(scope)
        }
        guard !scopes.isEmpty else { throw reader.missing("scopes") }
        let application = try reader.identifier("application", of: IdentifierKinds.Application.self)
        guard let text = try reader.string("sha256") else { throw reader.missing("sha256") }
        guard let digest = hexadecimal(text), digest.count == 32 else {
            throw reader.invalid("sha256", "must be the 64 hexadecimal digits of the key's SHA-256")
        }
        let perSecond = try reader.integer(
            "requestsPerSecond", in: 1...Int64(DaemonLimits.requestsPerSecondMaximum))
        try reader.finish()
        return APIKey(
            name: name, digest: digest, scopes: scopes, application: application,
            requestsPerSecond: perSecond)
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
