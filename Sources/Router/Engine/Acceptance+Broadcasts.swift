import RouterPlugin

/// Broadcasts: a request that becomes a notification for each session that can have it.
extension Acceptance {
    /// Accepts the notifications of a broadcast in one plan, as those of a request with many events.
    ///
    /// The first one has the keys of the request, and all of them name the first one. If no session can have it, the request
    /// is accepted as any other, and may have a session made for it.
    func broadcast(_ request: AcceptRequest, in plan: inout PlanDraft) throws(MissingFacts) {
        let id = request.application
        guard tenant.application.routing.broadcasts else { return plan.refuse(.broadcast(.off(id))) }
        guard request.notification.collapseID == nil else { return plan.refuse(.broadcast(.collapses)) }
        if tenant.application.routing.requiresContentID, request.lacksContentID {
            return plan.refuse(.contentIDMissing(id))
        }
        plan.reads += [.application(id), .newSession(id)]
        for key in request.dedupeKeys { plan.reads.append(.dedupe(key)) }
        if let earlier = try Pipeline.dedupe(request, plan.facts) { return try answer(earlier, in: &plan) }
        let request = try pipeline.amended(request, &plan.work, at: plan.time) ?? request
        let history = try pipeline.history(of: id, about: request.notification.contentID, lanes, in: &plan)
        let limit = request.mostReceivers
        let receivers = pipeline.chooser.receivers(
            of: request.view, in: tenant, &plan.work, at: plan.time, knowing: history, limit: limit + 1)
        guard !plan.work.isUnfinished else { throw .steps }
        guard receivers.count <= limit else { return plan.refuse(.broadcast(.tooManyReceivers(limit: limit))) }
        guard !receivers.isEmpty else {
            try accept(request, in: &plan)
            if case .accepted = plan.reply { plan.reply = .acceptedAll([plan.reply]) }
            return
        }
        add(receivers, of: request, in: &plan)
    }

    private func add(_ receivers: [BroadcastReceiver], of request: AcceptRequest, in plan: inout PlanDraft) {
        var part = request
        var replies: [Reply] = []
        var first: NotificationID?
        for receiver in receivers {
            var decision = receiver.decision
            guard let session = decision.session else { continue }
            if let amendment = request.amendment { decision.reason = amendment.noted(on: decision.reason) }
            if let first { part.broadcast = .only(session, of: first) }
            let placement: Placement =
                switch receiver.outcome {
                case .held(let until): .held(until: until)
                default:
                    tenant.gate(before: receiver.outcome, device: request.device).map { .gated($0.device) } ?? .lane
                }
            let accepted = plan.add(part, decision, placement, nil)
            replies.append(.accepted(accepted))
            first = first ?? accepted.id
            part.notification.dedupeKeys = []
        }
        plan.reply = .acceptedAll(replies)
    }

    /// Answers a repetition with the notifications of the first request.
    private func answer(_ earlier: Routed, in plan: inout PlanDraft) throws(MissingFacts) {
        guard case .duplicate(let receipt, let newKeys) = earlier, let first = receipt.broadcast else {
            plan.reply = .refused(.idempotencyConflict)
            return
        }
        let receipts = try plan.facts.broadcast(at: BroadcastPlace(first, near: receipt.sequence))
        // None of them must be forgotten in the same transaction.
        for receipt in receipts { plan.reads.append(.delivery(receipt.sequence)) }
        if !newKeys.isEmpty { plan.changes.append(.addDedupeKeys(receipt.sequence, newKeys)) }
        plan.reply = .acceptedAll(receipts.map { .duplicate($0) })
    }
}

extension AcceptRequest {
    /// The greatest number of notifications of a broadcast.
    var mostReceivers: Int { BroadcastReceiver.limit(payloadBytes: notification.payload.count) }
}
