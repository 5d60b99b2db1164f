package import RouterPlugin

/// A request to a gate from a session or an operator.
package enum GateRequest: Sendable {
    /// A session asks to use the application.
    case open(SessionKey)
    /// A session reports progress or an outcome, as the responsible session of a term.
    case report(Report, by: SessionKey, term: Int64)
    /// An operator makes the gate start over.
    case reset(GateKey)

    package enum Report: Hashable, Sendable {
        case progress(ProgressReport)
        /// The client keeps the result of onboarding under this name; nil requests a generated name.
        case succeed(storing: String?)
        case fail
        /// The gate must start over; any session may request that while the gate requires no action.
        case reset
    }

    package var application: ApplicationID {
        switch self {
        case .open(let session), .report(_, by: let session, term: _): session.application
        case .reset(let key): key.application
        }
    }

    /// The session that makes the request; nil for an operator.
    package var speaker: SessionKey? {
        switch self {
        case .open(let session), .report(_, by: let session, term: _): session
        case .reset: nil
        }
    }
}
