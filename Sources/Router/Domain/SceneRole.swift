/// The scene roles with a meaning for the router.
package enum SceneRole {
    /// UIKit's `UIWindowSceneSessionRoleApplication`: an ordinary window of the application.
    package static let windowApplication = "windowApplication"
    /// A session that is told the events of the others, and takes no part itself.
    package static let observer = "observer"
}
