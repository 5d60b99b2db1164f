/// The reactions to a plan, in the order in which they run: whatever a command does to sessions, gates and questions, its
/// consequences are found in the plan's changes, in the transaction in which they happen.
///
/// A reaction sees the changes of the command and of all reactions before it, and runs if one of them is of its kind.
enum PlanReaction: UInt8, CaseIterable {
    /// Ends questions about sessions that the plan configures or deletes. First: the settled questions it adds must not
    /// configure their sessions a second time, for which `configureSessions` looks at sessions as the plan has left them.
    case endQuestions
    /// Configures sessions whose questions the plan settles. Before the gates: a session that is brought forward by it comes
    /// to its gate, and one that is deleted leaves it.
    case configureSessions
    /// Tells gates of the sessions that leave and come. After everything that moves sessions.
    case attendGates
    /// Keeps the time at which an application is left, and locks it. After the gates: one that has opened while all scenes
    /// are in the background is left at once.
    case watchForeground
    /// Gives the responsible sessions their leases. After everything that makes sessions responsible.
    case leaseResponsible
    /// Tells windows whose screen changes without their gate. Last: events that the gates have told already are not told
    /// again.
    case tellScreens

    static let inOrder = allCases

    private static let configuring = Due([.configureSessions])
    private static let moving = Due([.endQuestions, .attendGates, .watchForeground, .leaseResponsible, .tellScreens])
    private static let switching = Due([.attendGates, .watchForeground, .leaseResponsible, .tellScreens])
    private static let passing = Due([.watchForeground, .leaseResponsible])
    private static let locking = Due([.watchForeground])

    /// The reactions that have to look at a change, for it may have consequences that they find.
    private static func following(_ change: StoreChange) -> Due {
        switch change {
        case .settle: configuring
        case .putSession, .deleteSession: moving
        case .putApplication: switching
        case .putGate: passing
        case .putPasscodeLock: locking
        default: Due()
        }
    }

    /// The reactions that are due after changes.
    struct Due {
        private var bits: UInt8 = 0

        fileprivate init(_ reactions: [PlanReaction] = []) {
            for reaction in reactions { bits |= 1 << reaction.rawValue }
        }

        init(after changes: [StoreChange]) {
            for change in changes { bits |= PlanReaction.following(change).bits }
        }

        func contains(_ reaction: PlanReaction) -> Bool { bits & 1 << reaction.rawValue != 0 }
    }
}
