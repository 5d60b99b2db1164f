/// Somebody in the daemon who is told what has happened to the applications and sessions that name it.
///
/// An observer is the one kind of plugin that does something: it writes a log, counts, lights a lamp. What it is told has
/// been committed, and nothing waits for it: neither a decision nor a lane, nor another observer. It is told each event at
/// most once, in the order of their numbers, one at a time and on a thread of its own, so that it may block. What it misses
/// because it takes too long, or because the daemon ends, it is not told again; what must not be lost is a webhook's
/// business. Observers of one event are told in the order of their registration: those of the application, then those of
/// the session. Every observer runs `SceneObserverSuite` of RouterTesting.
public protocol SceneObserver: Sendable {
    /// The observer's own name, by which applications and sessions register it.
    var id: PluginID { get }
    /// Is told one event. What it throws is counted and logged, and that is all.
    func observe(_ event: RouterEvent) throws
}
