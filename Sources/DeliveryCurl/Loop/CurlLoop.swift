import CCurl
import Router

/// The transport's one thread: takes mail, starts requests, waits, reports. The round is `turn()`.
///
/// Not `Sendable`: it is made by the transport, handed to its thread, and stays there. Only that thread calls libcurl.
final class CurlLoop {
    private let configuration: CurlConfiguration
    let mailbox: Mailbox
    let multi: CurlMulti
    private var admission: Admission<Transfer>
    /// The handles, made when a slot is first used.
    private(set) var slots: [EasySlot?]
    /// The running request of each slot.
    private(set) var transfers: [Transfer?]
    /// Names that are looked up, and the slots that wait for them.
    var names: NameHistory
    /// The last moment at which a new name got a thread, or the first one began to wait for one.
    var lookUpsMovedAt: UInt64 = 0
    /// Entries to remove from libcurl's table of names when the next request is handed over.
    var oldNames: [String] = []
    /// The look-up of a name, which runs on a thread of its own.
    let lookUp: @Sendable (String) -> HostLookUp
    /// The moment at which running transfers are cut off; nil while the transport is open.
    private var stopDeadline: UInt64?

    init(
        configuration: CurlConfiguration, mailbox: Mailbox,
        lookUp: @escaping @Sendable (String) -> HostLookUp = HostLookUp.ask
    ) throws(CurlSetupError) {
        self.lookUp = lookUp
        names = NameHistory(threads: configuration.lookUps, more: configuration.furtherLookUps)
        self.configuration = configuration
        self.mailbox = mailbox
        multi = try CurlMulti(configuration: configuration)
        admission = Admission(slots: configuration.slots, waitingLimit: configuration.waitingLimit)
        slots = Array(repeating: nil, count: configuration.slots)
        transfers = Array(repeating: nil, count: configuration.slots)
        try multi.watch(bell: mailbox.bell)
    }

    /// The whole life of the thread.
    func run() {
        begin()
        while turn() {}
        tearDown()
    }

    /// From here on the calling thread is the loop's.
    func begin() {
        multi.begin()
    }

    // MARK: A round

    /// One round; false when the transport is stopped and nothing runs any more.
    func turn() -> Bool {
        multi.assertOwner()
        readMail()
        startWaiting()
        engine("curl_multi_socket_action", multi.actIfDue(at: MonotonicClock.nanoseconds))
        reportFinished()
        endLateLookUps(at: MonotonicClock.nanoseconds)
        if let stopDeadline, stopDeadline <= MonotonicClock.nanoseconds { cutOffAll(.cutOff) }
        if stopDeadline != nil, admission.running == 0 { return false }
        waitForEvents()
        return true
    }

    private func readMail() {
        let mail = mailbox.take()
        stopDeadline = mail.stopDeadline
        for transfer in mail.arrivals {
            if stopDeadline != nil {
                transfer.fail(.shuttingDown)
            } else if !admission.submit(transfer) {
                transfer.fail(.queueFull)
            }
        }
        if stopDeadline != nil {
            for transfer in admission.drain() { transfer.fail(.shuttingDown) }
        }
        for id in mail.cancelled { cancel(id) }
        for (name, lookUp) in mail.found { tell(name, lookUp) }
    }

    private func startWaiting() {
        while let (slot, transfer) = admission.next() {
            if let failure = start(transfer, in: slot) {
                slots[slot]?.clear()
                admission.release(slot)
                transfer.fail(failure)
            }
        }
    }

    /// Hands a request to libcurl, or says why it cannot be.
    private func start(_ transfer: Transfer, in number: Int) -> TransferFailure? {
        multi.assertOwner()
        do throws(RequestRefusal) {
            let slot = try slot(number)
            try slot.prepare(transfer.request)
            if let failure = try handOver(slot, []) { return failure }
            transfers[number] = transfer
            return nil
        } catch {
            return error.failure
        }
    }

    private func slot(_ number: Int) throws(RequestRefusal) -> EasySlot {
        if let slot = slots[number] { return slot }
        let slot = try EasySlot(number: number, configuration: configuration)
        try multi.watchClosing(of: slot)
        slots[number] = slot
        return slot
    }

    private func reportFinished() {
        while let (number, code) = multi.nextFinished() {
            guard let slot = slots[number] else { preconditionFailure("slot \(number) finished without a handle") }
            switch slot.state.finished(code) {
            case .awaitAddresses where multi.remove(slot) == CURLM_OK: awaitAddresses(number, slot)
            case .useOwnConnection where multi.remove(slot) == CURLM_OK: useOwnConnection(number, slot)
            case .finish, .awaitAddresses, .useOwnConnection:
                if code == CURLE_OPERATION_TIMEDOUT, slot.mayShare, let sent = slot.state.sent {
                    multi.hasTimedOut(on: sent.over, since: sent.at, at: MonotonicClock.nanoseconds)
                }
                finish(number, slot.result(of: code))
            }
        }
    }

    /// Hands a request over again, for a connection of its own.
    private func useOwnConnection(_ number: Int, _ slot: EasySlot) {
        do throws(RequestRefusal) {
            try slot.useOwnConnection(at: MonotonicClock.nanoseconds)
            if let failure = try handOver(slot, []) { end(number, slot, failure) }
        } catch {
            end(number, slot, error.failure)
        }
    }

    private func waitForEvents() {
        let mayWait = !admission.canStart && mailbox.fallAsleep(knowing: stopDeadline)
        let count = multi.wait(milliseconds: mayWait ? timeToWait() : 0)
        for index in 0..<count {
            let (descriptor, readiness) = multi.event(at: index)
            if descriptor == mailbox.bell {
                mailbox.hear()
            } else if !multi.endRest(of: descriptor) {
                engine("curl_multi_socket_action", multi.act(on: descriptor, readiness: readiness))
            }
        }
    }

    private func timeToWait() -> Int32 {
        let now = MonotonicClock.nanoseconds
        let deadlines = [
            multi.deadline, stopDeadline, awaiting.map(\.until).min(), crowdDeadline, names.nextLate(after: now),
        ]
        guard let deadline = deadlines.compactMap(\.self).min() else { return -1 }
        return MonotonicClock.milliseconds(until: deadline, from: now)
    }

    // MARK: Ends

    /// Frees the slot, then tells the sender, whose next request may then find the slot free.
    func finish(_ number: Int, _ result: TransferResult) {
        multi.assertOwner()
        guard let slot = slots[number], let transfer = transfers[number] else {
            preconditionFailure("slot \(number) ended a transfer that it did not run")
        }
        transfers[number] = nil
        let connection = slot.state.sent?.over
        stopAwaiting(number, slot, isLate: false)
        if let name = slot.nameToForget { oldNames.append(name) }
        if multi.remove(slot) == CURLM_OK {
            slot.clear()
        } else {
            // Nothing says what state the handle is in. Its clean-up takes it out of the multi handle by force.
            slots[number] = nil
        }
        if let connection, !multi.silent.isEmpty, !slots.contains(where: { $0?.state.sent?.over == connection }) {
            multi.silent.end(connection, at: MonotonicClock.nanoseconds)
        }
        admission.release(number)
        transfer.completion(result)
    }

    /// Ends a request that libcurl does not have.
    func end(_ number: Int, _ slot: EasySlot, _ failure: TransferFailure) {
        var metrics = TransferMetrics()
        metrics.total = Int64((MonotonicClock.nanoseconds - slot.time.start) / 1000)
        finish(number, TransferResult(outcome: .failure(failure), metrics: metrics))
    }

    private func cutOffAll(_ failure: TransferFailure) {
        for number in transfers.indices where transfers[number] != nil {
            finish(number, TransferResult(outcome: .failure(failure)))
        }
    }

    private func cancel(_ id: UInt64) {
        if let transfer = admission.remove(where: { $0.id == id }) {
            transfer.fail(.cancelled)
        } else if let number = transfers.firstIndex(where: { $0?.id == id }) {
            finish(number, TransferResult(outcome: .failure(.cancelled)))
        }
    }

    /// A failure of the engine itself (memory, epoll) says nothing of any single transfer. The running
    /// transfers are failed and taken out; libcurl allows a fresh start as soon as a multi handle is empty.
    func engine(_ call: String, _ code: CURLMcode) {
        guard code != CURLM_OK else { return }
        cutOffAll(TransferFailure(engine: call, code))
    }

    func tearDown() {
        precondition(admission.running == 0, "\(admission.running) transfers run at the end of the loop")
        slots.removeAll()
        multi.close()
        let (arrivals, waiters) = mailbox.end()
        for transfer in arrivals { transfer.fail(.shuttingDown) }
        for waiter in waiters { waiter.resume() }
    }
}
