import Router
import RouterPlugin

extension World {
    /// A session sends a request to its gate: mostly the expected one.
    mutating func speakAtGate() {
        let registrations = witness.ledger.registrations
        let sessions = registrations.sessions.values.filter { session in
            session.activationState != .unattached
                && registrations.applications[session.key.application]?.gates.onboarding != nil
        }
        guard let session = pick(sessions.sorted { $0.key < $1.key }) else { return }
        let key = GateKey(of: session)
        let gate = registrations.gates[key] ?? OnboardingGate(key)
        if let responsible = gate.responsible, happens(250) {
            // A person loses patience during onboarding and closes the window.
            let name = SessionKey(application: key.application, session: responsible)
            return ask(.disconnectSession(name), "close \(name)")
        }
        if happens(100) { return ask(.gate(.reset(key)), "reset \(key)") }
        if gate.isOpen, happens(200) {
            return ask(.gate(happens(700) ? .lock(by: session.key) : .lockDevice(key)), "lock \(key) by \(session.key)")
        }
        if happens(150) { return ask(.gate(.showDemo(session.key)), "\(session.key) shows the demo at \(key)") }
        guard gate.state != .notOpened, !session.isInDemo else {
            return ask(.gate(.open(session.key)), "open \(key) by \(session.key)")
        }
        let speaker = happens(800) ? gate.responsible ?? session.key.session : session.key.session
        let term = happens(900) ? gate.term : max(0, gate.term + Int64.random(in: -1...1, using: &generator))
        let report = drawReport()
        let name = SessionKey(application: key.application, session: speaker)
        ask(.gate(.report(report, by: name, term: term)), "\(name) at \(key) in term \(term): \(report)")
    }

    private mutating func drawReport() -> GateRequest.Report {
        switch Int.random(in: 0..<10, using: &generator) {
        case 0, 1:
            let total = Int.random(in: 1...5, using: &generator)
            return .progress(
                ProgressReport(
                    operationID: "op", step: "step", currentStepNumber: Int.random(in: 1...total, using: &generator),
                    totalNumberOfSteps: total))
        case 2: return .fail(reason: happens(500) ? "network" : nil)
        case 3: return .reset(asOperator: happens(200))
        default: return .succeed(storing: happens(500) ? "person" : nil)
        }
    }

    mutating func drawGates() -> GateSettings {
        guard happens(options.gated) else { return GateSettings() }
        return GateSettings(
            onboarding: OnboardingSettings(
                demoConfiguration: happens(400) ? "Kiosk" : nil, closesWithLastScene: happens(300),
                coversInBackground: happens(200), keepsHeldOnReset: happens(150)),
            passcode: drawPolicy())
    }

    /// The gate of a request in an earlier term; nil if the term is current, or if the command is no such request.
    func gateThatIsFurther(than command: Command) -> OnboardingGate? {
        let (name, term): (SessionKey, Int64)
        switch command {
        case .gate(.report(_, by: let session, term: let said)): (name, term) = (session, said)
        case .passcode(let request): (name, term) = (request.speaker.session, request.speaker.term)
        default: return nil
        }
        let registrations = witness.ledger.registrations
        guard let session = registrations.sessions[name] else { return nil }
        let gate = registrations.gate(GateKey(of: session))
        return term < gate.term ? gate : nil
    }

    /// In the end no person is left to open the gates: they are switched off, so that all held notifications can
    /// settle.
    mutating func switchGatesOff() {
        for (id, known) in witness.ledger.registrations.applications.sorted(by: { $0.key < $1.key })
        where known.gates.onboarding != nil {
            var application = known
            application.gates = GateSettings()
            put(application, "switch the gate of \(id) off")
        }
    }

    /// Changes the passcode policy of an application in use, and now and then its gates.
    mutating func changePolicy(of id: ApplicationID) {
        guard var application = witness.ledger.registrations.applications[id] else { return }
        application.gates.passcode = drawPolicy()
        if happens(300) { application.gates.onboarding?.demoConfiguration = happens(500) ? "Kiosk" : nil }
        put(application, "change the policy of \(id)")
    }

    /// Puts a known application with a change.
    private mutating func put(_ application: Application, _ why: String) {
        var draft = ApplicationDraft(application: application, delegate: nil, endpoints: [:])
        draft.delegate = application.delegate.map(EndpointDraft.init)
        for configuration in application.manifest.sceneConfigurations {
            draft.endpoints[configuration.name] = configuration.endpoint.map(EndpointDraft.init)
        }
        ask(.putApplication(draft), why)
    }

    /// Counts the effects of changes on gates, compared with the state before them.
    mutating func countGates(_ changes: [StoreChange]) {
        for change in changes {
            switch change {
            case .insert(let new): if case .gated = new.placement { statistics.gated += 1 }
            case .reassign(let sequence, _, .lane) where witness.ledger.entries[sequence]?.heldBy != nil:
                statistics.flowed += 1
            case .putSession(let session) where session.isInDemo:
                if witness.ledger.registrations.sessions[session.key]?.isInDemo != true { statistics.demos += 1 }
            case .putGate(let gate):
                let known = witness.ledger.registrations.gate(gate.key)
                if known.state != .locked, gate.state == .locked { statistics.locks += 1 }
                if known.state != .resetting, gate.state == .resetting { statistics.resets += 1 }
                if known.state == .locked, gate.state == .opened { statistics.unlocks += 1 }
                guard known.state == gate.state,
                    let last = known.responsible, let next = gate.responsible, last != next
                else { break }
                statistics.takeovers += 1
            default: break
            }
        }
    }
}

extension EndpointDraft {
    /// The draft of a known endpoint.
    fileprivate init(_ endpoint: Endpoint) {
        self.init(url: endpoint.url, keys: endpoint.keys, freshSecret: "", format: endpoint.format)
    }
}
