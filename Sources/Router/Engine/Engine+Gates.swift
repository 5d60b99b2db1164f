package import RouterPlugin

extension Engine {
    // MARK: Reading

    /// A gate as it stands; nil if the application is not there or has not switched it on.
    package func gate(_ key: GateKey) -> OnboardingGate? {
        guard let tenant = tenants[key.application], tenant.application.gates.onboarding != nil else { return nil }
        return tenant.gate(of: key.device)
    }

    /// How many notifications wait behind a gate.
    package func heldCount(behind key: GateKey) -> Int { gated(at: key)?.count ?? 0 }

    /// How many notifications a closed gate pauses in the lanes of its sessions.
    package func pausedCount(behind key: GateKey) -> Int {
        guard let tenant = tenants[key.application], !tenant.isOpen(for: key.device) else { return 0 }
        return planner.lanes.keys(of: key.application).reduce(0) { count, lane in
            guard let session = tenant.sessions[lane.session], session.device == key.device else { return count }
            return count + (planner.lanes[lane]?.notificationsWaiting ?? 0)
        }
    }

    /// Whether a delivery waits in a lane that a closed gate pauses.
    package func isPaused(_ sequence: NotificationSequence) -> Bool {
        guard let key = planner.lane(of: sequence), let tenant = tenants[key.application],
            let session = tenant.sessions[key.session], planner.delivery(sequence)?.isEvent == false
        else { return false }
        return tenant.isCovered(session)
    }

    /// The notifications that wait for a gate; nil if there are none.
    func gated(at key: GateKey) -> HeldNotifications? { tenants[key.application]?.gates.gated(at: key.device) }

    /// The lock of an application on a device; one without a history has no passcode.
    package func passcodeLock(_ key: GateKey) -> PasscodeLock {
        tenants[key.application]?.lock(of: key.device) ?? PasscodeLock(key)
    }

    /// The gate of a session that may speak of passcodes: hashing, which costs much, is not done for others.
    package func passcodePlace(of speaker: PasscodeRequest.Speaker) throws(Refusal) -> PasscodePlace {
        let id = speaker.session.application
        guard let tenant = tenants[id] else { throw absence(of: id) }
        return try tenant.passcodePlace(of: speaker)
    }

    /// When an application is locked on a device, if no session comes to the foreground before; nil if it is not going to be.
    package func locksAt(_ key: GateKey) -> Timestamp? { tenants[key.application]?.locksAt(of: key.device) }

    // MARK: Applying

    mutating func put(_ gate: OnboardingGate) {
        let (id, device) = (gate.key.application, gate.key.device)
        let before = tenants[id]?.gates.gate(of: device)
        let wasOpen = before?.isOpen == true
        tenants[id]?.gates.put(gate)
        if gate.state == .resetting, before?.state != .resetting {
            tenants[id]?.markAskedBeforeReset(at: device, planner)
        }
        guard gate.isOpen != wasOpen, let tenant = tenants[id] else { return }
        // Notifications in lanes may go on; or they rest from now on, and the events behind them go past them.
        guard let device else {
            for key in planner.lanes.keys(of: id) where tenant.scene(key.session)?.device == nil { planner.wake(key) }
            return
        }
        tenant.registry.visitAll(device: device) { session in
            planner.wake(SessionKey(application: id, session: session))
            return true
        }
    }

    /// Applies a lock as it was committed.
    mutating func put(_ lock: PasscodeLock) {
        tenants[lock.key.application]?.gates.put(lock)
        if let time = locksAt(lock.key) { timers.set(.passcode(lock.key), at: time) }
    }

    /// Whether an application that was left is to be locked now; if it is later, its timer is set again.
    mutating func lockIsDue(_ key: GateKey, at now: Timestamp) -> Bool {
        guard let time = locksAt(key) else { return false }
        if time > now { timers.set(.passcode(key), at: time) }
        return time <= now
    }

    /// Looks at the locks of an application with other gate settings: other sessions may count as in the foreground now, and
    /// the time until it locks may be another one.
    mutating func rewatchLocks(of id: ApplicationID) -> [FollowUp] {
        for lock in tenants[id]?.gates.locks ?? [] {
            if let time = locksAt(lock.key) { timers.set(.passcode(lock.key), at: time) }
        }
        return gates(id)?.locksToWatch ?? []
    }

    /// The next steps of applications that have passcodes left to forget.
    mutating func passcodesToForget(of applications: Set<ApplicationID>) -> [FollowUp] {
        if applications.isEmpty { return [] }
        for id in applications { tenants[id]?.gates.trimObsoleteLocks() }
        return applications.filter { tenants[$0]?.gates.obsoleteLocks.isEmpty == false }.sorted().map {
            .forgetPasscodes($0)
        }
    }

    /// Whether notifications for the person from before a reset are left at a gate.
    func hasForgotten(at key: GateKey) -> Bool {
        guard let tenant = tenants[key.application] else { return false }
        let gate = tenant.gate(of: key.device)
        return gate.state == .resetting && !tenant.forgotten(at: gate, planner.view, limit: 1).isEmpty
    }

    // MARK: Held notifications

    /// A held notification; nil if it is in a lane, or settled.
    package func held(_ sequence: NotificationSequence) -> UnsettledNotification? {
        holders[sequence].flatMap { tenants[$0]?.deliveries.held[sequence] ?? deletions[$0]?.held[sequence] }
    }

    /// A notification that is held or in a lane.
    package func unsettled(_ sequence: NotificationSequence) -> UnsettledNotification? {
        held(sequence) ?? planner.delivery(sequence)?.notification
    }

    /// Holds a notification until its time or its gate, or until the deletion of its application comes to it.
    mutating func hold(_ notification: UnsettledNotification) {
        let (id, sequence) = (notification.application, notification.sequence)
        guard tenants[id] != nil || deletions[id] != nil else { return }
        holders[sequence] = id
        guard tenants[id] != nil else {
            deletions[id]?.hold(notification)
            return
        }
        tenants[id]?.deliveries.hold(notification)
        if let gate = notification.heldBy { tenants[id]?.gates.hold(sequence, at: gate.device) }
        if let time = notification.holdEndsAt { timers.set(.hold(sequence), at: time) }
    }

    /// Takes a notification out of the held ones; nil if it is not held.
    mutating func release(_ sequence: NotificationSequence) -> UnsettledNotification? {
        guard let id = holders.removeValue(forKey: sequence) else { return nil }
        timers.cancel(.hold(sequence))
        guard tenants[id] != nil else { return deletions[id]?.release(sequence) }
        let notification = tenants[id]?.deliveries.release(sequence)
        if let gate = notification?.heldBy { tenants[id]?.gates.release(sequence, at: gate.device) }
        return notification
    }

    /// Whether a held notification waits for the gate of a session that cannot receive it any more.
    func isMisaddressed(_ notification: UnsettledNotification) -> Bool {
        tenants[notification.application]?.isMisaddressed(notification) == true
    }

    /// The gate of a session, if notifications wait for it.
    func place(of session: SessionKey) -> GateKey? {
        guard tenants[session.application]?.gates.isEmpty == false, let known = self.session(session) else {
            return nil
        }
        let key = GateKey(of: known)
        return gated(at: key) == nil ? nil : key
    }

    /// The releases of notifications that are decided again because a session has gone from a gate.
    func releases(at gate: GateKey?) -> [FollowUp] {
        guard let gate, let waiting = gated(at: gate) else { return [] }
        return waiting.first(.max).filter { held($0).map { isMisaddressed($0) } ?? false }.map { .release($0) }
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
