package import RouterPlugin

extension Tenant {
    /// The gate of a device, or of none; one that nothing has happened to is not opened.
    package func gate(of device: DeviceID?) -> OnboardingGate {
        gates.gate(of: device) ?? OnboardingGate(GateKey(application: application.id, device: device))
    }

    /// Whether the gate of a device lets notifications through; one that is not switched on does.
    package func isOpen(for device: DeviceID?) -> Bool {
        application.gates.onboarding == nil || gates.isOpen(for: device)
    }

    /// The gate that keeps a notification from the session that was chosen for it; nil if none does. A notification that
    /// comes while others still wait behind an open gate waits behind them.
    ///
    /// - Parameters:
    ///   - device: That of the notification.
    ///   - receiver: The only session that may have the notification; nil if any may.
    ///   - gate: The gate that releases the notification, which is not asked again.
    package func gate(
        before outcome: ChoiceOutcome, device: DeviceID?, boundTo receiver: SessionID? = nil,
        passing gate: GateKey? = nil
    ) -> GateKey? {
        guard application.gates.onboarding != nil || !gates.isEmpty else { return nil }
        let place: DeviceID?
        switch outcome {
        case .session(let id): place = sessions[id]?.device
        case .newSession: place = gateOfDemo(for: device).map(\.device) ?? device
        // The person who tries the demo may still sign in there.
        case .undeliverable:
            guard let demo = receiver.map(gateOfDemo(of:)) ?? gateOfDemo(for: device) else { return nil }
            place = demo.device
        case .held, .dropped: return nil
        }
        let key = GateKey(application: application.id, device: place)
        return key == gate || isOpen(for: place) && gates.gated(at: place) == nil ? nil : key
    }

    /// The gate of a session that is in demo mode; nil for another one.
    private func gateOfDemo(of id: SessionID) -> GateKey? {
        sessions[id].flatMap { $0.isInDemo ? GateKey(of: $0) : nil }
    }

    /// The gate of a session that would be a candidate if it were not in demo mode; nil if there is none.
    private func gateOfDemo(for device: DeviceID?) -> GateKey? {
        demos(on: device).map { GateKey(of: $0) }.min()
    }

    /// Whether the gate of a session is closed, so that content has to wait, or the session shows the demo.
    package func isCovered(_ session: SceneSession) -> Bool {
        isCovered(session.device) || application.gates.onboarding != nil && session.isInDemo
    }

    /// Whether the gate of a device is closed.
    func isCovered(_ device: DeviceID?) -> Bool {
        application.gates.onboarding != nil && !gates.isOpen(for: device)
    }

    /// A session as answers show it; with `reach`, its reachability too.
    package func shown(_ session: SceneSession, _ reach: Reach? = nil) -> ShownSession {
        ShownSession(
            session: session, screen: screen(of: session), isCovered: isCovered(session) && !session.isObserver,
            unreachable: reach.map { $0.obstacle(to: session) })
    }

    /// The rule by which answers show the past deliveries of a session.
    package func pastShown(to session: SceneSession) -> PastDeliveries {
        PastDeliveries(
            device: session.device, isCovered: isCovered(session),
            forgottenThrough: gate(of: session.device).forgottenThrough)
    }

    /// When the application is locked on a device, if no session comes to the foreground before; nil if it is not going to be.
    func locksAt(of device: DeviceID?) -> Timestamp? {
        guard application.gates.onboarding != nil, let policy = application.gates.passcode else { return nil }
        return gates.lock(of: device)?.locksAt(under: policy)
    }

    mutating func findObsoleteLocks() { gates.findObsoleteLocks(under: application.gates) }

    /// Gates with notifications waiting, in no order.
    var gatesWithGated: [GateKey] {
        gates.devicesWithGated.map { GateKey(application: application.id, device: $0) }
    }

    /// A page of the gates with a history, notifications behind them, or a session in demo mode, in order; none if the
    /// application has no gate.
    ///
    /// - Parameters:
    ///   - after: The last gate before the page; nil begins with the first.
    ///   - limit: The greatest number of gates of the page.
    ///   - examined: The greatest number of gates that are looked at.
    package func gatesInUse(
        after: GateKey?, limit: Int, examined: Int, where isWanted: (OnboardingGate) -> Bool = { _ in true }
    ) -> GatePage {
        var page = GatePage()
        guard application.gates.onboarding != nil else { return page }
        var count = 0
        gates.visit(after: after) { device, isShown in
            guard page.gates.count < limit, count < examined else {
                page.hasMore = true
                return false
            }
            count += 1
            page.last = GateKey(application: application.id, device: device)
            let gate = gate(of: device)
            if isShown, isWanted(gate) { page.gates.append(gate) }
            return true
        }
        return page
    }

    /// Marks the deliveries under way to the sessions of a gate: they are answered for the person from before its reset.
    mutating func markAskedBeforeReset(at device: DeviceID?, _ planner: LanePlanner) {
        var asked: [NotificationSequence] = []
        for session in sessions(of: device) {
            guard let queue = planner.lanes[session.key]?.queue else { continue }
            asked += queue.lazy.filter { !$0.machine.isWaiting }.map(\.notification.sequence)
        }
        let settled = deliveries.askedBeforeReset.filter { planner.lane(of: $0) == nil }
        deliveries.markAskedBeforeReset(asked, forgetting: settled)
    }

    /// The screen of a session; nil if the application has no gate.
    package func screen(of session: SceneSession) -> ApplicationScreen? {
        guard let settings = application.gates.onboarding else { return nil }
        return gate(of: session.device).screen(of: session, under: settings)
    }

    /// Shows the sessions that are connected at a gate and take part, best first, until `visit` returns false: the order is
    /// that of a notification that names no content.
    func visitPresent(at device: DeviceID?, _ visit: (SceneSession) -> Bool) {
        visitConnected(at: device) { session in session.device == device ? visit(session) : true }
    }

    /// Likewise the sessions that are connected and not in demo mode; nil stands for those of all devices.
    package func visitConnected(at device: DeviceID?, _ visit: (SceneSession) -> Bool) {
        var lost = lostSessions(at: device)
        var isWanted = true
        registry.visit(.can, for: RegistryQuery(device: device, contentID: nil)) { id in
            guard let session = sessions[id] else { return true }
            // Sessions behind it are not connected either.
            guard rankedState(of: session) != .unattached else { return false }
            // Lost connections do not count at gates before the end of their grace period.
            let rank = Rank(RegistryEntry(session), in: .can)
            while isWanted, let next = lost.last, Rank(RegistryEntry(next), in: .can) < rank {
                lost.removeLast()
                isWanted = visit(next)
            }
            isWanted = isWanted && visit(session)
            return isWanted
        }
        while isWanted, let next = lost.popLast() { isWanted = visit(next) }
    }

    /// Connected sessions in the grace period after a connection, the best one last.
    private func lostSessions(at device: DeviceID?) -> [SceneSession] {
        if lost.isEmpty { return [] }
        return lost.compactMap { participant($0) }.filter { session in
            session.activationState != .unattached && (device == nil || session.device == device)
        }.sorted { Rank(RegistryEntry($1), in: .can) < Rank(RegistryEntry($0), in: .can) }
    }
}

extension SceneSession {
    /// Whether a person may be looking at it.
    package var isInForeground: Bool { activationState >= .foregroundInactive }

    /// The gate at which it stands and takes part; nil if it is not there.
    func place(under settings: OnboardingSettings?) -> GateKey? {
        guard settings != nil, activationState != .unattached, disabled == nil, discardedAt == nil else { return nil }
        return GateKey(of: self)
    }
}
