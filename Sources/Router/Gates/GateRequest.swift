package import RouterPlugin

/// A request to a gate from outside.
package enum GateRequest: Sendable {
    /// A session wants the application to be used.
    case open(SessionKey)
    /// The responsible session reports on its task.
    case report(Report, by: SessionKey, term: Int64)
    /// An operator lets everything begin from the start.
    case reset(GateKey)

    package enum Report: Hashable, Sendable {
        case progress(ProgressReport)
        /// Onboarding is complete. The client keeps its result under this name; nil for a name that the router makes.
        case succeed(storing: String?)
        case fail
        /// Everything is to begin from the start; where nothing is to be done, any session may request it.
        case reset
    }

    package var application: ApplicationID {
        switch self {
        case .open(let session), .report(_, by: let session, term: _): session.application
        case .reset(let key): key.application
        }
    }

    /// The session that speaks; nil for an operator.
    package var speaker: SessionKey? {
        switch self {
        case .open(let session), .report(_, by: let session, term: _): session
        case .reset: nil
        }
    }
}
