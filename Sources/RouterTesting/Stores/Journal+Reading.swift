package import Router
package import RouterPlugin

extension Journal {
    /// The answer to one lookup, for tests that look at one fact.
    package func receipt(for key: DedupeKey) throws -> Receipt? {
        try facts(for: [.receipt(key)]).receipt(for: key)
    }

    package func keptAnswer(for key: DedupeKey) throws -> KeptAnswer? {
        try facts(for: [.keptAnswer(key)]).keptAnswer(for: key)
    }

    package func retained(limit: Int) throws -> Retained {
        try facts(for: [.retained(limit: limit)]).retained(limit: limit)
    }

    package func replayable(_ replay: Replay, limit: Int, examined: Int) throws -> ReplayPage {
        let lookup = Lookup.replayable(replay, limit: limit, examined: examined)
        return try facts(for: [lookup]).replayable(replay, limit: limit, examined: examined)
    }
}

extension Engine {
    /// Plans a command with the facts of a store, read as often as planning finds that some are missing: what the loop
    /// does for a single command.
    package mutating func plan(
        _ command: Command, at now: Timestamp, reading store: some Journal
    ) throws(StoreError) -> Plan {
        let lookups = needs(command)
        var facts = lookups.isEmpty ? Facts() : try store.facts(for: lookups)
        while true {
            do throws(MissingFacts) {
                return try plan(command, facts, at: now)
            } catch {
                if let fault = facts.fault(of: error.lookups) { throw fault }
                facts.merge(try store.facts(for: error.lookups))
            }
        }
    }
}
