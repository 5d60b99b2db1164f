import RouterPlugin

/// The state that a plan leaves, as far as it has come: an application, its sessions, gates and passcode locks. A plan is
/// about one application.
///
/// A plan may change the same gate more than once: each change begins with the result of the one before.
struct PlannedState {
    private(set) var id: ApplicationID?
    /// The application, if the plan changes it.
    private(set) var application: Application?
    /// The sessions that the plan changes; nil for deleted ones.
    private(set) var sessions: [SessionKey: SceneSession?] = [:]
    private(set) var gates: [GateKey: OnboardingGate] = [:]
    private(set) var locks: [GateKey: PasscodeLock] = [:]

    init(_ changes: [StoreChange]) {
        for change in changes {
            switch change {
            case .putSession(let session):
                id = session.key.application
                sessions[session.key] = .some(session)
            case .deleteSession(let key):
                id = key.application
                sessions[key] = .some(nil)
            case .putApplication(let application):
                id = application.id
                self.application = application
            case .putGate(let gate):
                id = gate.key.application
                gates[gate.key] = gate
            case .putPasscodeLock(let lock):
                id = lock.key.application
                locks[lock.key] = lock
            default: break
            }
        }
    }

    /// A session as the plan leaves it; nil if the plan deletes it.
    func after(_ known: SceneSession) -> SceneSession? { sessions[known.key] ?? known }
}
