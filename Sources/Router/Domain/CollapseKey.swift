package import RouterPlugin

/// Notifications that stand for one another: of one application, for one device or for any, under one collapse id.
package struct CollapseKey: Hashable, Sendable {
    private enum Collapse: IdentifierKind {
        static let rule = IdentifierRule(name: "collapse-id", maximumLength: 64, allowsDots: true) { _ in true }
    }

    private let application: ApplicationID
    private let device: DeviceID?
    private let id: Identifier<Collapse>

    /// Nil if the notification stands for itself alone.
    package init?(application: ApplicationID, device: DeviceID?, collapseID: String?) {
        guard let collapseID else { return nil }
        self.application = application
        self.device = device
        id = Identifier(unchecked: collapseID)
    }
}
