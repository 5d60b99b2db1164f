/// The end of a notification that is not wanted any more.
///
/// A waiting or held notification ends at once. One with an attempt under way may have arrived: it ends as delivered if the
/// attempt is taken, and is not tried again otherwise.
package enum Recall: String, Hashable, Sendable {
    /// A newer notification with the same collapse id has come.
    case superseded
    /// A client has called it back.
    case cancelled
    /// Its application was deleted.
    case applicationDeleted
    /// The gate of its device was reset.
    case gateReset

    package var settlement: Settlement {
        switch self {
        case .superseded: .superseded
        case .cancelled: .cancelled
        case .applicationDeleted: .deadLettered(.applicationDeleted)
        case .gateReset: .deadLettered(.gateReset)
        }
    }
}
