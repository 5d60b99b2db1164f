package import RouterPlugin
import Synchronization

/// The last events of the router, for any number of readers.
///
///     EngineHost ──publish──▶ the last events ◀──next── readers, each at its own place
///
/// The publisher never waits for a reader. All readers share one ring: a reader that falls further behind than the ring
/// reaches misses the events that were overwritten, and is told their number. While there has been no reader for a
/// while, no events are made.
///
/// Thread-safe; one thread publishes.
package final class EventFeed: Sendable {
    private struct State {
        var feed: FeedState
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        var whenEnding: [Int: @Sendable () -> Void] = [:]
    }

    /// Identifies this run of the daemon.
    package let run: String
    private let wanted = Atomic(false)
    private let state: Mutex<State>

    package init(run: String, settings: FeedSettings = FeedSettings()) {
        self.run = run
        state = Mutex(State(feed: FeedState(settings)))
    }

    /// Whether events are to be made. A feed without readers costs no more than this check.
    package var isWanted: Bool { wanted.load(ordering: .relaxed) }

    /// The number of the last event.
    package var lastSequence: Int64 { state.withLock { $0.feed.lastSequence } }

    /// Makes events from now on, whether or not the feed has readers.
    package func keepRecording() {
        state.withLock { state in
            state.feed.keepRecording()
            wanted.store(true, ordering: .relaxed)
        }
    }

    package func publish(_ events: [RouterEvent], at now: Timestamp) {
        guard !events.isEmpty else { return }
        let waiting = state.withLock { state in
            state.feed.publish(events, at: now)
            wanted.store(state.feed.isRecording, ordering: .relaxed)
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Opens a reader, if there is room for it.
    ///
    /// - Parameters:
    ///   - place: The place of the last event that the reader has seen; nil begins with the next event.
    ///   - application: The application whose events alone the reader gets, numbered without regard to others; nil for all.
    ///   - caller: The caller whose readers are counted together; nil does not count them.
    package func open(
        after place: FeedPlace?, of application: ApplicationID? = nil, by caller: [UInt8]? = nil
    ) throws(FeedState.Refusal) -> FeedReader {
        let id = try state.withLock { state throws(FeedState.Refusal) in
            let id = try state.feed.open(after: place, of: application, by: caller)
            wanted.store(state.feed.isRecording, ordering: .relaxed)
            return id
        }
        return FeedReader(feed: self, id: id)
    }

    /// Ends all readers: the daemon is about to stop.
    package func end() {
        let (waiting, others) = state.withLock { state in
            state.feed.endAll()
            defer { state.waiting = [:] }
            return (state.waiting.values, state.whenEnding.values)
        }
        for continuation in waiting { continuation.resume() }
        for action in others { action() }
    }

    // MARK: For readers

    fileprivate func close(_ id: Int) {
        wake(id) {
            $0.feed.close(id)
            $0.whenEnding[id] = nil
        }
    }

    fileprivate func nudge(_ id: Int) { wake(id) { $0.feed.nudge(id) } }

    fileprivate func end(_ id: Int) { wake(id) { $0.feed.end(id) } }

    fileprivate func whenEnding(_ id: Int, _ action: @escaping @Sendable () -> Void) {
        state.withLock { $0.whenEnding[id] = action }
    }

    fileprivate func next(_ id: Int, limit: Int) async -> FeedState.Step {
        while true {
            if let step = state.withLock({ $0.feed.take(id, limit: limit) }) { return step }
            await withCheckedContinuation { continuation in
                // Checked under the lock: a later publish finds the continuation in `waiting`.
                let mayLook = state.withLock { state in
                    if state.feed.hasSomething(for: id) { return true }
                    state.waiting[id] = continuation
                    return false
                }
                if mayLook { continuation.resume() }
            }
        }
    }

    private func wake(_ id: Int, _ change: (inout State) -> Void) {
        let continuation = state.withLock { state in
            change(&state)
            return state.waiting.removeValue(forKey: id)
        }
        continuation?.resume()
    }
}

/// A reader of the feed, for one task. It is closed when the last reference to it goes.
package final class FeedReader: Sendable {
    private let feed: EventFeed
    private let id: Int

    fileprivate init(feed: EventFeed, id: Int) {
        self.feed = feed
        self.id = id
    }

    deinit { feed.close(id) }

    /// The next step; waits for it.
    package func next(limit: Int) async -> FeedState.Step { await feed.next(id, limit: limit) }

    /// Lets `next` return, even if no event has occurred.
    package func nudge() { feed.nudge(id) }

    /// Lets `next` return the end.
    package func end() { feed.end(id) }

    /// Sets the action that is called when the daemon is about to stop.
    package func whenEnding(_ action: @escaping @Sendable () -> Void) { feed.whenEnding(id, action) }
}
