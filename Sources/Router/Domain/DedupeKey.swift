package import RouterPlugin

/// The key under which a sender may repeat a notification, or a client a request.
package struct DedupeKey: Hashable, Sendable {
    package var application: ApplicationID
    package var source: PluginID
    package var key: String

    package init(application: ApplicationID, source: PluginID, key: String) {
        self.application = application
        self.source = source
        self.key = key
    }

    package static func == (lhs: DedupeKey, rhs: DedupeKey) -> Bool {
        lhs.application == rhs.application && lhs.source == rhs.source && lhs.key.isSame(as: rhs.key)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(application)
        hasher.combine(source)
        var key = key
        key.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
