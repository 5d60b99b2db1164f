/// The scene roles with a meaning for the router.
package enum SceneRole {
    /// UIKit's `UIWindowSceneSessionRoleApplication`: an ordinary window of the application.
    package static let windowApplication = "windowApplication"
    /// A receiver for the events of the other sessions, without scenes or contents.
    package static let observer = "observer"
}
