import GRDB
import Router
import RouterPlugin

/// The rows of `api_key`.
enum APIKeyRows {
    /// In order of their names.
    static func all(_ db: Database) throws -> [APIKey] {
        var keys: [APIKey] = []
        let select = """
            SELECT \(CheckedTable.apiKey.isSound), name, digest, scopes, application, per_second, created_at
            FROM api_key ORDER BY name
            """
        try PreparedStatement(db, select).forEach { row in
            try row.expectSound()
            let name = row.text()
            let digest = row.bytes()
            let scopes = try TextList.decode(row.text()).map { word in
                guard let scope = APIScope(rawValue: word) else {
                    throw StoreError(.corrupt, "the scopes of a key cannot be read")
                }
                return scope
            }
            keys.append(
                APIKey(
                    name: name, digest: digest, scopes: Set(scopes),
                    application: row.optionalText().map(ApplicationID.init(unchecked:)),
                    requestsPerSecond: row.optionalInt(), createdAt: row.time()))
        }
        return keys
    }
}

extension ChangeWriter {
    private static let putKey = CheckedTable.apiKey.insert(
        "name, digest, scopes, application, per_second, created_at", orReplace: true)

    func put(_ key: APIKey) throws {
        try PreparedStatement(db, Self.putKey).run {
            $0.bind(key.name)
            $0.bind(key.digest)
            $0.bind(TextList.encode(key.scopes.map(\.rawValue).sorted()))
            $0.bind(key.application?.text)
            $0.bind(key.requestsPerSecond)
            $0.bind(key.createdAt?.milliseconds)
        }
    }

    func deleteKey(_ name: String) throws {
        try PreparedStatement(db, "DELETE FROM api_key WHERE name = ?").run { $0.bind(name) }
    }
}
