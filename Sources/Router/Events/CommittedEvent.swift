package import RouterPlugin

/// Something that has happened, and who is registered to be told, in that order.
package struct CommittedEvent: Hashable, Sendable {
    package var event: RouterEvent
    package var observers: [PluginID]

    package init(event: RouterEvent, observers: [PluginID] = []) {
        self.event = event
        self.observers = observers
    }
}
