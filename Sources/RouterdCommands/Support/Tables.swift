import RouterPlugin

/// A list of the API as a table.
///
/// A table shows the columns that matter most. Other fields with a value are named on standard error; `--wide` shows
/// them, names the fields that no entry has a value of, and `--json` prints the answer itself.
struct Table {
    private let columns: [String]
    private let rows: [[String]]
    /// Sentences about the fields that have no column.
    private let notes: [String]

    /// - Parameter columns: Fields in the order of the columns; one within an object is `object.field`.
    init(_ columns: [String], of entries: [JSONValue], wide: Bool = false) {
        let flat = entries.map(Self.flattened)
        var (others, empty): ([String], [String]) = ([], [])
        for field in flat.joined() where !columns.contains(field.name) {
            let hasValue = field.value != "-"
            if hasValue, !others.contains(field.name) { others.append(field.name) }
            if !hasValue, !empty.contains(field.name) { empty.append(field.name) }
        }
        empty.removeAll { others.contains($0) }
        let shown = wide ? columns + others : columns
        self.columns = shown
        let note = wide ? ("no entry has a value of", empty) : ("further fields, by --wide or --json", others)
        notes = note.1.isEmpty ? [] : ["\(note.0): \(note.1.joined(separator: ", "))"]
        rows = flat.map { entry in shown.map { name in entry.first { $0.name == name }?.value ?? "-" } }
    }

    /// Prints the table, or a sentence that there is nothing.
    func show(nothing sentence: String) {
        guard !rows.isEmpty else { return Console.error(sentence) }
        for line in Self.aligned(columns, rows) { Console.print(line) }
        for note in notes { Console.error(note) }
    }

    /// The fields of an entry, those of objects within it under dotted names.
    private static func flattened(_ entry: JSONValue) -> [(name: String, value: String)] {
        (entry.asObject?.members ?? []).flatMap { member -> [(name: String, value: String)] in
            guard case .object(let object) = member.value, !object.isEmpty else {
                return [(member.key, cell(member.value))]
            }
            return flattened(member.value).map { ("\(member.key).\($0.name)", $0.value) }
        }
    }

    private static func cell(_ value: JSONValue) -> String {
        switch value {
        case .null: "-"
        case .string(let text): text
        case .array(let elements) where elements.isEmpty: "-"
        case .object(let object) where object.isEmpty: "-"
        default: String(decoding: value.serialized(), as: UTF8.self)
        }
    }

    /// Rows as lines whose columns stand below one another, the heading first.
    static func aligned(_ heading: [String], _ rows: [[String]]) -> [String] {
        let all = (heading.isEmpty ? [] : [heading]) + rows
        let widths = all.reduce(into: [Int]()) { widths, row in
            for (place, cell) in row.enumerated() {
                if place == widths.count { widths.append(0) }
                widths[place] = max(widths[place], cell.count)
            }
        }
        return all.enumerated().map { number, row in
            row.enumerated().map { place, cell in
                let isLast = place == row.count - 1
                let padding = isLast ? "" : String(repeating: " ", count: widths[place] - cell.count)
                let colour: Terminal.Colour? =
                    number == 0 && !heading.isEmpty ? .strong : Terminal.colour(of: cell)
                return (colour.map { Terminal.paint(cell, $0) } ?? cell) + padding
            }.joined(separator: "  ")
        }
    }
}
