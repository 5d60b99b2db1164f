import RouterPlugin

extension DaemonConfiguration {
    /// Settings that have their effect when the file is read again; tests of rules have none in a daemon.
    private static let rereadNames: Set<String> = ["apiKeys", "rules", "tests"]

    /// The settings of the file that another reading of it has with other values, and that need a start.
    ///
    /// - Returns: Their names, such as `log.level`, in order.
    package func settingsNeedingStart(in other: DaemonConfiguration) -> [String] {
        Self.differences(document, other.document, at: "").sorted()
    }

    private static func differences(_ first: JSONValue?, _ second: JSONValue?, at path: String) -> [String] {
        guard first != second else { return [] }
        let objects = [first, second].map { $0.flatMap(\.asObject) }
        // A level that one of them lacks differs in all settings of the other.
        guard objects.contains(where: { $0 != nil }),
            zip([first, second], objects).allSatisfy({ $0 == nil || $1 != nil })
        else { return [path] }
        let names = Set(objects.flatMap { $0?.members.map(\.key) ?? [] })
        return names.flatMap { name -> [String] in
            if path.isEmpty, rereadNames.contains(name) { return [] }
            return differences(objects[0]?[name], objects[1]?[name], at: path.isEmpty ? name : "\(path).\(name)")
        }
    }
}
