package import Router
package import RouterPlugin
import Synchronization

/// The runs of configured sources, created when a source is first used and created again when it changes.
package final class SourceRuns: Sendable {
    private let kinds: PluginRegistry
    private let runs = Mutex<[SourceID: SourceRun]>([:])

    package init(kinds: PluginRegistry) { self.kinds = kinds }

    /// The run of a definition; nil if the daemon no longer has its kind, or no longer accepts its options.
    package func run(of definition: SourceDefinition) -> SourceRun? {
        if let run = runs.withLock({ $0[definition.id] }), run.definition == definition { return run }
        guard let kind = kinds.sourceKind(named: definition.kind.text), let source = try? kind.make(definition.options),
            let run = try? SourceRun(definition, by: source, needsSecret: kind.secrets == .required)
        else { return nil }
        runs.withLock { $0[definition.id] = run }
        return run
    }

    /// Forgets a source that was deleted.
    package func forget(_ id: SourceID) { runs.withLock { $0[id] = nil } }
}
