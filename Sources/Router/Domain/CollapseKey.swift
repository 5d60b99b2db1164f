package import RouterPlugin

/// The key of notifications that supersede one another: of one application, for one device or for any, with one
/// collapse id.
package struct CollapseKey: Hashable, Sendable {
    private enum Collapse: IdentifierKind {
        static let rule = IdentifierRule(name: "collapse-id", maximumLength: 64, allowsDots: true) { _ in true }
    }

    private let application: ApplicationID
    private let device: DeviceID?
    private let id: Identifier<Collapse>

    /// Nil if the notification has no collapse id.
    package init?(application: ApplicationID, device: DeviceID?, collapseID: String?) {
        guard let collapseID else { return nil }
        self.application = application
        self.device = device
        id = Identifier(unchecked: collapseID)
    }
}
