package import RouterPlugin

/// A request to a gate from outside.
package enum GateRequest: Sendable {
    /// A session wants the application to be used.
    case open(SessionKey)
    /// A session wants to show the demo.
    case showDemo(SessionKey)
    /// The responsible session reports on its task.
    case report(Report, by: SessionKey, term: Int64)
    /// An operator lets everything begin from the start.
    case reset(GateKey)
    /// A session locks the application that is in use.
    case lock(by: SessionKey)
    /// The device is configured, or is not any more.
    case configure(GateKey, JSONDocument?)
    /// An operator locks it.
    case lockDevice(GateKey)

    package enum Report: Hashable, Sendable {
        case progress(ProgressReport)
        /// Onboarding is complete. The client keeps its result under this name; nil for a name that the router makes.
        case succeed(storing: String?)
        case fail(reason: String? = nil, message: String? = nil)
        /// Everything is to begin from the start; where nothing is to be done, any session may request it. A device that
        /// a passcode protects is reset by an operator, or after the passcode.
        case reset(asOperator: Bool)
    }

    package var application: ApplicationID {
        switch self {
        case .open(let session), .showDemo(let session), .report(_, by: let session, term: _), .lock(by: let session):
            session.application
        case .reset(let key), .lockDevice(let key), .configure(let key, _): key.application
        }
    }

    /// Whether it ends a flow well. A full application stops no person there: the stored name is short.
    var isSuccess: Bool { if case .report(.succeed, by: _, term: _) = self { true } else { false } }

    /// The session that speaks; nil for an operator.
    package var speaker: SessionKey? {
        switch self {
        case .open(let session), .showDemo(let session), .report(_, by: let session, term: _), .lock(by: let session):
            session
        case .reset, .lockDevice, .configure: nil
        }
    }
}
