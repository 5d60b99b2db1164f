import GRDB
import Router
import RouterPlugin

extension ChangeWriter {
    /// A replay's filter and request do not change.
    private static let putReplay = CheckedTable.replay.insert(
        ReplayReader.columns,
        end: "ON CONFLICT (id) DO UPDATE SET " + CheckedTable.replay.replacing(ReplayReader.columns))

    func put(_ replay: Replay) throws {
        try PreparedStatement(db, Self.putReplay).run {
            $0.bind(replay.id.text)
            $0.bind(replay.filter.application?.text)
            $0.bind(replay.filter.state?.rawValue)
            $0.bind(replay.filter.session?.text)
            $0.bind(replay.filter.contentID?.text)
            $0.bind(replay.filter.since?.milliseconds)
            $0.bind(replay.filter.until?.milliseconds)
            $0.bind(replay.perSecond)
            $0.bind(replay.matched)
            $0.bind(replay.through.value)
            $0.bind(replay.createdAt.milliseconds)
            $0.bind(replay.request?.key)
            $0.bind(replay.request?.fingerprint)
            $0.bind(replay.position.value)
            $0.bind(replay.replayed)
            $0.bind(replay.skipped)
            $0.bind(replay.state.rawValue)
            $0.bind(replay.resumesAt.milliseconds)
            $0.bind(replay.endedAt?.milliseconds)
        }
    }

    func forget(_ id: ReplayID) throws {
        let deleted = try PreparedStatement(db, "DELETE FROM replay WHERE id = ? AND progress <> 'running'").run {
            $0.bind(id.text)
        }
        guard deleted == 1 else { throw StoreError(.conflict, "the replay \(id) is not there, or under way") }
    }
}
