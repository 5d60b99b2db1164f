import CCurl
import Router

// Names are looked up on threads of their own, because the system's resolver blocks for as long as it likes, and no
// more than a few at a time, because nothing can stop it. A request waits for its addresses within its own time; a
// thread keeps its place until it comes back, even if no request waits for it any more.
extension CurlLoop {
    /// Hands a request to libcurl, or says why it cannot be.
    func handOver(_ slot: EasySlot, _ addresses: [String]) throws(RequestRefusal) -> TransferFailure? {
        try slot.setNames(forgetting: oldNames, addresses)
        slot.handOver()
        let code = multi.add(slot)
        guard code == CURLM_OK else { return TransferFailure(engine: "curl_multi_add_handle", code) }
        oldNames.removeAll()
        return nil
    }

    /// The slots whose requests wait for addresses, with the ends of their waits.
    var awaiting: [(slot: Int, until: UInt64)] {
        guard !names.isEmpty else { return [] }
        return slots.indices.compactMap { number in slots[number]?.state.awaitsUntil.map { (number, $0) } }
    }

    /// The slot's request needs its host's addresses.
    func awaitAddresses(_ number: Int, _ slot: EasySlot) {
        guard let host = slot.host else { preconditionFailure("slot \(number) has no host to look up") }
        let isUnderWay = names.isUnderWay(host)
        let waitsForThread = !isUnderWay && !slot.hasBegun
        slot.awaitAddresses(until: waitsForThread ? slot.time.threadDeadline : slot.time.addressDeadline)
        if names.waiting == 0 { lookUpsMovedAt = MonotonicClock.nanoseconds }
        names.ask(host, for: number, of: transfers[number]?.request.application)
        startLookUps()
    }

    /// The slot's request needs no addresses any more. Returns whether its look-up has begun.
    @discardableResult
    func stopAwaiting(_ number: Int, _ slot: EasySlot, isLate: Bool) -> Bool {
        guard slot.state.awaitsUntil != nil, let host = slot.host else { return false }
        return names.giveUp(host, for: number, isLate: isLate)
    }

    /// A thread has come back.
    func tell(_ name: String, _ lookUp: HostLookUp) {
        for number in names.ended(name, isFound: lookUp.isFound) {
            guard let slot = slots[number], slot.state.awaitsUntil != nil else { continue }
            if let failure = goOn(slot, lookUp) { end(number, slot, failure) }
        }
        startLookUps()
    }

    /// Ends the requests whose time is over and that have no addresses yet. Where other names had all threads, the
    /// request's own name was not looked up: the request leaves its slot early, and is tried again.
    func endLateLookUps(at now: UInt64) {
        guard !awaiting.isEmpty else { return }
        if names.hasLate(at: now) { startLookUps() }
        for (number, _) in awaiting.filter({ $0.until <= now }).sorted(by: { $0.until < $1.until }) {
            endLookUp(number, at: now)
        }
        guard let deadline = crowdDeadline, deadline <= now else { return }
        // A request that may have been sent does not end like this: it waits on, and is looked at again after a while.
        for number in names.excess(over: names.threads) where slots[number]?.hasBegun == false {
            endLookUp(number, at: now)
        }
        if crowdDeadline != nil { lookUpsMovedAt = now }
    }

    /// The moment from which no more requests may wait for threads than there are threads; nil if no more do. While
    /// threads come back, any number may wait: it does not take long. When none has for a while, waiting requests would
    /// soon have every slot.
    var crowdDeadline: UInt64? { names.waiting > names.threads ? lookUpsMovedAt + CurlLimits.lookUpPause : nil }

    private func endLookUp(_ number: Int, at now: UInt64) {
        guard let slot = slots[number] else { return }
        let wasLookedUp = stopAwaiting(number, slot, isLate: true)
        let milliseconds = (now - slot.time.start) / 1_000_000
        let failure =
            wasLookedUp || slot.hasBegun
            ? TransferFailure(
                CURLE_OPERATION_TIMEDOUT, slot.hasBegun ? .begun : .resolving,
                detail: "Resolving timed out after \(milliseconds) milliseconds")
            : TransferFailure(
                kind: .noSocket, message: "no thread to look up the host within \(milliseconds) milliseconds")
        end(number, slot, failure)
    }

    private func startLookUps() {
        let begun = names.begun
        defer { if names.begun > begun { lookUpsMovedAt = MonotonicClock.nanoseconds } }
        let now = MonotonicClock.nanoseconds
        names.setLate(at: now)
        while let name = names.next(at: now) {
            for number in names.askers(of: name) {
                guard let slot = slots[number], slot.state.awaitsUntil != nil else { continue }
                slot.awaitAddresses(until: slot.time.addressDeadline)
            }
            let (mailbox, lookUp) = (mailbox, lookUp)
            do {
                try LoopThread(named: "curl-lookup") { mailbox.found(name, lookUp(name)) }.detach()
            } catch {
                mailbox.found(name, .noMeans(error.description))
            }
        }
    }

    /// Hands the request over again, now with addresses.
    private func goOn(_ slot: EasySlot, _ lookUp: HostLookUp) -> TransferFailure? {
        let progress: RequestProgress = slot.hasBegun ? .begun : .resolving
        switch lookUp {
        case .failed(let reason):
            let text = "Could not resolve host: \(slot.host ?? "") (\(reason))"
            return TransferFailure(CURLE_COULDNT_RESOLVE_HOST, progress, detail: text)
        case .noMeans(let reason):
            return slot.hasBegun
                ? TransferFailure(CURLE_COULDNT_RESOLVE_HOST, progress, detail: reason)
                : TransferFailure(kind: .noSocket, message: "no means to look up the host: \(reason)")
        case .addresses(let addresses):
            do throws(RequestRefusal) {
                try slot.setLimits(at: MonotonicClock.nanoseconds)
                return try handOver(slot, addresses)
            } catch {
                return error.failure
            }
        }
    }
}
