import Glibc
import PredicateEngine
import Router
import RouterPlugin

/// Decides every subject of a generated workload twice; Scripts/instructions.py counts the instructions of the second
/// time.
///
///     decision-count SESSIONS SUBJECTS
///
/// `routerd bench decide` does the same and is the source of the times, but valgrind cannot run the daemon's program.
@main
struct DecisionCount {
    private static let session = JSONLookup([
        ["id"], ["activationState"],
        ["activationConditions", "canActivateForTargetContentIdentifierPredicate"],
        ["activationConditions", "prefersToActivateForTargetContentIdentifierPredicate"],
    ])

    static func main() throws {
        let paths = CommandLine.arguments.dropFirst()
        guard let sessions = paths.first, let subjects = paths.last, paths.count == 2 else {
            print("usage: decision-count SESSIONS SUBJECTS")
            exit(2)
        }
        var registry = IndexedRegistry()
        for (number, line) in lines(of: sessions).enumerated() { registry.insert(try entry(line, number)) }
        let queries = lines(of: subjects).map { RegistryQuery(contentID: $0.isEmpty ? nil : ContentID(unchecked: $0)) }
        let found = (0..<2).map { _ in decideAll(queries, by: registry) }
        print("\(queries.count) decisions, \(found[0]) sessions found")
    }

    /// The name is the one that callgrind is told to count. Returns the number of subjects that some session can have.
    @inline(never)
    private static func decideAll(_ queries: [RegistryQuery], by registry: IndexedRegistry) -> Int {
        var found = 0
        for index in queries.indices where registry.best(for: queries[index]) != nil { found += 1 }
        return found
    }

    private static func entry(_ line: String, _ number: Int) throws -> RegistryEntry {
        let texts = try session.search(Array(line.utf8)).findings.map { finding in
            guard case .string(let text, _) = finding else { preconditionFailure("no session: \(line)") }
            return text
        }
        guard let state = ActivationState(name: texts[1]) else { preconditionFailure("no state: \(line)") }
        let conditions = ActivationConditions(
            canActivate: try Predicate(format: texts[2]), prefersToActivate: try Predicate(format: texts[3]))
        return RegistryEntry(
            session: SessionID(unchecked: texts[0]), conditions: conditions, state: state,
            creationSequence: Int64(number + 1))
    }

    private static func lines(of path: String) -> [String] {
        guard let file = fopen(path, "r") else { preconditionFailure("\(path): \(String(cString: strerror(errno)))") }
        defer { fclose(file) }
        var (line, capacity): (UnsafeMutablePointer<CChar>?, Int) = (nil, 0)
        defer { free(line) }
        var lines: [String] = []
        while getline(&line, &capacity, file) >= 0, let line {
            line[strcspn(line, "\n")] = 0
            lines.append(String(cString: line))
        }
        return lines
    }
}
