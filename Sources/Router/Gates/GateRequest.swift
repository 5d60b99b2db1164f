package import RouterPlugin

/// What is asked of a gate from outside.
package enum GateRequest: Sendable {
    /// A session wants the application to be used.
    case open(SessionKey)
    /// The session that is responsible says what has become of it.
    case report(Report, by: SessionKey, term: Int64)
    /// An operator has all begin anew.
    case reset(GateKey)

    package enum Report: Hashable, Sendable {
        case progress(ProgressReport)
        /// What onboarding has come to is kept by the client under this name; nil for one that is made.
        case succeed(storing: String?)
        case fail
        /// All is to begin anew; where nothing is to be done, any session may say so.
        case reset
    }

    package var application: ApplicationID {
        switch self {
        case .open(let session), .report(_, by: let session, term: _): session.application
        case .reset(let key): key.application
        }
    }

    /// Who speaks; nil for an operator.
    package var speaker: SessionKey? {
        switch self {
        case .open(let session), .report(_, by: let session, term: _): session
        case .reset: nil
        }
    }
}
