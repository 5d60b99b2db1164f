import GRDB
import Router

/// The row of `rules`.
enum RulesRow {
    /// Nil if rules were never kept.
    static func read(_ db: Database) throws -> KeptRules? {
        var kept: KeptRules?
        let select = "SELECT \(CheckedTable.rules.isSound), version, origin, document FROM rules"
        try PreparedStatement(db, select).forEach { row in
            try row.expectSound()
            let version = row.int64()
            guard let origin = KeptRules.Origin(rawValue: row.text()) else {
                throw StoreError(.corrupt, "the origin of the rules cannot be read")
            }
            kept = KeptRules(version: version, origin: origin, document: row.bytes())
        }
        return kept
    }
}

extension ChangeWriter {
    private static let putRules = CheckedTable.rules.insert("id, version, origin, document", orReplace: true)

    func put(_ kept: KeptRules) throws {
        try PreparedStatement(db, Self.putRules).run {
            $0.bind(1)
            $0.bind(kept.version)
            $0.bind(kept.origin.rawValue)
            $0.bind(kept.document)
        }
    }
}
