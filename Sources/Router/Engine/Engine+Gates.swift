package import RouterPlugin

extension Engine {
    /// A gate as it stands; nil if the application is not there or has not switched it on.
    package func gate(_ key: GateKey) -> OnboardingGate? {
        guard let tenant = tenants[key.application], tenant.application.gates.onboarding != nil else { return nil }
        return tenant.gate(of: key.device)
    }

    /// How many notifications wait behind a gate.
    package func heldCount(behind key: GateKey) -> Int { gated(at: key)?.count ?? 0 }

    /// The notifications that wait for a gate; nil if there are none.
    func gated(at key: GateKey) -> HeldNotifications? { tenants[key.application]?.gates.gated(at: key.device) }

    /// The gates of an application that something has happened to, or behind which something waits, in order.
    package func gates(of id: ApplicationID) -> [OnboardingGate] {
        guard let tenant = tenants[id], tenant.application.gates.onboarding != nil else { return [] }
        let waiting = tenant.gatesWithGated.filter { tenant.gates.gate(of: $0.device) == nil }
        return (tenant.gates.all + waiting.map { OnboardingGate($0) }).sorted { $0.key < $1.key }
    }

    mutating func planGate(_ request: GateRequest, at now: Timestamp) -> Plan {
        let id = request.application
        guard let tenant = tenants[id] else { return .refused(.unknownApplication(id)) }
        guard let settings = tenant.application.gates.onboarding else { return .refused(.gateOff(id)) }
        var plan = Plan(reads: [.application(id)])
        let key: GateKey
        if let speaker = request.speaker {
            guard let session = tenant.sessions[speaker.session] else { return .refused(.unknownSession(speaker)) }
            guard let place = session.place(under: settings) else { return .refused(.notAtGate(speaker)) }
            key = place
            plan.reads.append(.session(speaker))
            renewLease(of: session, at: now, in: &plan)
        } else if case .reset(let named) = request {
            key = named
        } else {
            preconditionFailure("Nobody asks something of the gate of \(id).")
        }
        plan.reads.append(.gate(key))
        plan.writes.append(.gate(key))
        var visit = visit(key, under: settings, in: PlannedState(plan.changes))
        if let refusal = passcodeRefusal(of: request, at: visit.gate, in: tenant) { return .refused(refusal) }
        do {
            visit.actions = try visit.gate.handle(event(of: request, at: visit, in: tenant, now: now))
        } catch {
            return .refused(.gate(error))
        }
        plan.reply = .gate(visit.gate)
        let lock = passcodeLock(key)
        // The one who chose it has not come to the end of onboarding; or it was not needed to come there.
        let hasFailed = visit.known.state == .onboarding && visit.gate.state == .notOpened
        if hasFailed || visit.gate.isOpen && isLeftOver(lock) { forget(lock, in: &plan) }
        finish(visit, in: tenant, at: now, plan: &plan)
        return plan
    }

    /// Any word from a session renews its lease.
    func renewLease(of session: SceneSession, at now: Timestamp, in plan: inout Plan) {
        guard session.leaseSeconds != nil else { return }
        var session = session
        session.renewLease(at: now)
        plan.changes.append(.putSession(session))
        plan.writes.append(.session(session.key))
    }

    private mutating func event(
        of request: GateRequest, at visit: GateVisit, in tenant: Tenant, now: Timestamp
    ) -> OnboardingGate.Event {
        switch request {
        case .open(let session): return .open(by: session.session)
        case .reset: return .reset(by: nil, next: visit.best(in: tenant))
        case .report(let report, by: let session, term: let term):
            let claim = OnboardingGate.Claim(session.session, term: term)
            switch report {
            case .progress(let progress): return .progress(progress, claim)
            case .succeed(let name):
                return .succeed(claim, storing: name ?? ids.onboarding(at: now))
            case .fail: return .fail(claim)
            case .reset: return .reset(by: claim, next: visit.best(in: tenant))
            }
        }
    }

    // MARK: Notifications

    /// A gate is open: decides anew what waits behind it, first ones first and a bounded number at a time.
    mutating func planRelease(gatedAt key: GateKey, at now: Timestamp, facts: Facts) throws(MissingFacts) -> Plan {
        guard let waiting = gated(at: key), tenants[key.application]?.isOpen(for: key.device) == true else {
            return Plan()
        }
        var plan = Plan(reads: [.application(key.application), .gate(key)])
        for sequence in waiting.first(moveLimit) {
            guard let notification = held(sequence) else { continue }
            plan.reads.append(.delivery(sequence))
            plan.writes.append(.delivery(sequence))
            guard !notification.isExpired(at: now) else {
                plan.changes.append(.settle(sequence, .expired, at: now))
                continue
            }
            let made = ids.lastCreationSequence
            try reassign(notification, leaving: nil, passing: key, at: now, facts: facts, in: &plan)
            // What comes behind may go to the session that was made, and is decided when it is known.
            if ids.lastCreationSequence != made { break }
        }
        return plan
    }

    /// Whether the notification waits for the gate of a session that cannot receive it any more, and names no device:
    /// another session may have it now.
    func isMisaddressed(_ notification: UnsettledNotification) -> Bool {
        guard let gate = notification.heldBy, notification.device == nil, let id = notification.decision.session else {
            return false
        }
        let session = tenants[notification.application]?.participant(id)
        return session == nil || session?.device != gate.device
    }

    // MARK: Applying

    mutating func put(_ gate: OnboardingGate) {
        let (id, device) = (gate.key.application, gate.key.device)
        let before = tenants[id]?.gates.gate(of: device)
        let wasOpen = before?.isOpen == true
        tenants[id]?.gates.put(gate)
        if gate.state == .resetting, before?.state != .resetting { mistrustAnswers(at: gate.key) }
        guard gate.isOpen != wasOpen, let tenant = tenants[id] else { return }
        // What waits in lanes may go on; or it rests from now on, and the events behind it go past it.
        guard let device else {
            for key in planner.lanes.keys(of: id) where tenant.scene(key.session)?.device == nil { planner.wake(key) }
            return
        }
        tenant.registry.visitAll(device: device) { session in
            planner.wake(SessionKey(application: id, session: session))
            return true
        }
    }

    /// A held notification; nil if it is in a lane, or settled.
    package func held(_ sequence: NotificationSequence) -> UnsettledNotification? {
        holders[sequence].flatMap { tenants[$0]?.deliveries.held[sequence] }
    }

    /// Holds a notification until its time or its gate. Its application exists: the transaction that deletes an
    /// application settles the held notifications of it.
    mutating func hold(_ notification: UnsettledNotification) {
        let (id, sequence) = (notification.application, notification.sequence)
        guard tenants[id] != nil else { return }
        holders[sequence] = id
        tenants[id]?.deliveries.hold(notification)
        if let gate = notification.heldBy { tenants[id]?.gates.hold(sequence, at: gate.device) }
        if let time = notification.holdEndsAt { timers.set(.hold(sequence), at: time) }
    }

    /// Takes a notification out of the held ones; nil if it is not held.
    mutating func release(_ sequence: NotificationSequence) -> UnsettledNotification? {
        guard let id = holders.removeValue(forKey: sequence) else { return nil }
        timers.cancel(.hold(sequence))
        let notification = tenants[id]?.deliveries.release(sequence)
        if let gate = notification?.heldBy { tenants[id]?.gates.release(sequence, at: gate.device) }
        return notification
    }

    /// The gate of a session, if notifications wait for it.
    func place(of session: SessionKey) -> GateKey? {
        guard tenants[session.application]?.gates.isEmpty == false, let known = self.session(session) else {
            return nil
        }
        let key = GateKey(of: known)
        return gated(at: key) == nil ? nil : key
    }

    /// What is to be decided anew because a session has gone from there.
    func releases(at gate: GateKey?) -> [FollowUp] {
        guard let gate, let waiting = gated(at: gate) else { return [] }
        return waiting.first(.max).filter { held($0).map(isMisaddressed) ?? false }.map { .release($0) }
    }

    /// The releases of gated notifications at the open gates among these.
    func releases(atOpen gates: some Sequence<GateKey>) -> [FollowUp] {
        gates.filter { key in
            gated(at: key) != nil && tenants[key.application]?.isOpen(for: key.device) == true
        }.sorted().map { .releaseGated($0) }
    }
}

extension UnsettledNotification {
    /// When the hold ends by itself: at its time, or when the notification expires.
    var holdEndsAt: Timestamp? {
        let end: Timestamp? = if case .at(let end) = expiration { end } else { nil }
        return [end, heldUntil].compactMap(\.self).min()
    }
}
