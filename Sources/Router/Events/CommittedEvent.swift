package import RouterPlugin

/// A committed event, and the observers that are registered for it, in the order in which they are told.
package struct CommittedEvent: Hashable, Sendable {
    package var event: RouterEvent
    package var observers: [PluginID]

    package init(event: RouterEvent, observers: [PluginID] = []) {
        self.event = event
        self.observers = observers
    }
}
