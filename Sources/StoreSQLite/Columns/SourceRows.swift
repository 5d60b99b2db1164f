import GRDB
import Router
import RouterPlugin

/// The rows of `source`.
enum SourceRows {
    /// In order of their names.
    static func all(_ db: Database, _ keys: KeyColumn) throws -> [SourceDefinition] {
        var sources: [SourceDefinition] = []
        let select = "SELECT \(CheckedTable.source.isSound), id, definition, secrets FROM source ORDER BY id"
        try PreparedStatement(db, select).forEach { row in
            try row.expectSound()
            let id = SourceID(unchecked: row.text())
            let text = row.text()
            do {
                let value = try JSONValue(parsing: Array(text.utf8), limits: .configuration)
                var source = try SourceDefinition(id: id, reading: value)
                source.secrets = try keys.secrets(row.bytes(), of: id)
                sources.append(source)
            } catch let error as StoreError {
                throw error
            } catch {
                throw StoreError(.corrupt, "the definition of the source \(id) cannot be read")
            }
        }
        return sources
    }
}

extension ChangeWriter {
    private static let putSource = CheckedTable.source.insert(
        "id, application, definition, secrets",
        end: """
            ON CONFLICT (id) DO UPDATE SET \(CheckedTable.source.replacing("definition, secrets"))
            WHERE excluded.application = source.application
            """)

    func put(_ source: SourceDefinition) throws {
        let secrets = try keys.encode(source.secrets, of: source.id)
        let written = try PreparedStatement(db, Self.putSource).run {
            $0.bind(source.id.text)
            $0.bind(source.application.text)
            $0.bind(String(decoding: source.document, as: UTF8.self))
            $0.bind(secrets)
        }
        guard written == 1 else {
            throw StoreError(.conflict, "the source \(source.id) is another application's")
        }
    }

    func delete(_ source: SourceID) throws {
        try PreparedStatement(db, "DELETE FROM source WHERE id = ?").run { $0.bind(source.text) }
    }
}
