/// Code in the daemon that receives the events of the applications and sessions that name it.
///
/// An observer is the one kind of plugin with side effects: it writes a log, counts, lights a lamp. Its events are
/// committed, and nothing waits for it: neither a decision nor a lane, nor another observer. It receives each event at
/// most once, in the order of their numbers, one at a time and on a thread of its own, so that it may block. Events
/// that it misses because it takes too long, or because the daemon ends, are not sent to it again; events that must not
/// be lost need a webhook. Observers of one event are called in the order of their registration: those of the
/// application, then those of the session. Every observer runs `SceneObserverSuite` of RouterTesting.
public protocol SceneObserver: Sendable {
    /// The observer's own name, by which applications and sessions register it.
    var id: PluginID { get }
    /// Receives one event. An error that it throws is counted and logged, and has no other effect.
    func observe(_ event: RouterEvent) throws
}
