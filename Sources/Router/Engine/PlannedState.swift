import RouterPlugin

/// How a plan leaves what gates depend on, as far as it has come: an application, its sessions, gates and passcodes. A plan
/// is about one application.
///
/// A plan may change the same gate more than once: each change begins with what the one before it has made.
struct PlannedState {
    private(set) var id: ApplicationID?
    /// What the application says from now on, if that is other than before.
    private(set) var application: Application?
    /// The sessions as they are afterwards; nil for those that are gone.
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

    /// A session as it is afterwards; nil if it is gone.
    func after(_ known: SceneSession) -> SceneSession? { sessions[known.key] ?? known }

    /// Whether the plan moves sessions, or says who takes part.
    var movesSessions: Bool { application != nil || !sessions.isEmpty }
}

extension Engine {
    /// A gate as a plan has it so far, to be changed.
    func visit(_ key: GateKey, under settings: OnboardingSettings, in state: PlannedState) -> GateVisit {
        let gate = state.gates[key] ?? tenants[key.application]?.gate(of: key.device) ?? OnboardingGate(key)
        return GateVisit(gate, under: settings)
    }

    /// A lock as a plan has it so far.
    func passcodeLock(_ key: GateKey, in state: PlannedState) -> PasscodeLock { state.locks[key] ?? passcodeLock(key) }
}
