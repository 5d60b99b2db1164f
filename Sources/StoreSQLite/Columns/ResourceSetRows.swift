import GRDB
import Router
import RouterPlugin

/// The rows of `resource_set`.
enum ResourceSetRows {
    /// In order of their names.
    static func all(_ db: Database) throws -> [ResourceSet] {
        var sets: [ResourceSet] = []
        let select = "SELECT \(CheckedTable.resourceSet.isSound), name, members FROM resource_set ORDER BY name"
        try PreparedStatement(db, select).forEach { row in
            try row.expectSound()
            let name = row.text()
            let texts = try TextList.decode(row.text())
            guard texts.count.isMultiple(of: 3) else { throw damaged }
            let members = try stride(from: 0, to: texts.count, by: 3).map { place in
                guard let kind = ResourceRef.Kind(rawValue: texts[place]) else { throw damaged }
                return ResourceRef(kind, ApplicationID(unchecked: texts[place + 1]), texts[place + 2])
            }
            sets.append(ResourceSet(name: name, members: Set(members)))
        }
        return sets
    }

    private static var damaged: StoreError { StoreError(.corrupt, "the members of a set cannot be read") }
}

extension ChangeWriter {
    private static let putSet = CheckedTable.resourceSet.insert("name, members", orReplace: true)

    func put(_ set: ResourceSet) throws {
        let texts = set.members.sorted().flatMap { [$0.kind.rawValue, $0.application.text, $0.id] }
        try PreparedStatement(db, Self.putSet).run {
            $0.bind(set.name)
            $0.bind(TextList.encode(texts))
        }
    }
}
