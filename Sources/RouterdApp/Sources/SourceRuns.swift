package import Router
package import RouterPlugin
import Synchronization

/// The runs of configured sources, made when a source is used first and made again when it changes.
package final class SourceRuns: Sendable {
    private let kinds: PluginRegistry
    private let runs = Mutex<[SourceID: SourceRun]>([:])

    package init(kinds: PluginRegistry) { self.kinds = kinds }

    /// The run of a definition; nil if the daemon does not have its kind any more, or its options are no longer taken.
    package func run(of definition: SourceDefinition) -> SourceRun? {
        if let run = runs.withLock({ $0[definition.id] }), run.definition == definition { return run }
        guard let kind = kinds.sourceKind(named: definition.kind.text), let source = try? kind.make(definition.options),
            let run = try? SourceRun(definition, by: source, needsSecret: kind.secrets == .required)
        else { return nil }
        runs.withLock { $0[definition.id] = run }
        return run
    }

    /// Forgets a source that is gone.
    package func forget(_ id: SourceID) { runs.withLock { $0[id] = nil } }
}
