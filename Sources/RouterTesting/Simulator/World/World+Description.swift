import Router
import RouterPlugin

extension World {
    /// A short description of a change, for the log.
    func describe(_ change: StoreChange) -> String {
        switch change {
        case .putApplication(let application): "put \(application.id)"
        case .deleteApplication(let id): "delete \(id)"
        case .beginDeletion(let id): "begin to delete \(id)"
        case .sweep(let id, let limit): "sweep \(limit) rows of \(id)"
        case .putSource(let source): "put the source \(source.id)"
        case .deleteSource(let id): "delete the source \(id)"
        case .putSession(let session):
            """
            put \(session.key) \(session.activationState) \(session.connection.epoch).\(session.connection.lastEvent)\
            \(session.connection.isTold ? " told" : "")\(session.disabled == nil ? "" : " disabled")\
            \(session.discardedAt == nil ? "" : " discarded")
            """
        case .deleteSession(let key): "delete \(key)"
        case .putGate(let gate):
            "gate \(gate.key) \(gate.state), term \(gate.term), \(gate.responsible?.text ?? "nobody")"
        case .keepAnswer(let key, _, _): "keep the answer to \(key.key)"
        case .insert(let new):
            "insert \(new.sequence) \(new.event.map { "\($0.kind) \($0.number?.description ?? "")" } ?? "") for \(new.decision.session?.text ?? "-") \(describe(new.placement))"
        case .addDedupeKeys(let sequence, let keys): "\(sequence) came again as \(keys.map(\.key))"
        case .releaseDedupeKey(let key): "the key \(key.key) is free"
        case .recordAttempt(let attempt): "record \(attempt.sequence)/\(attempt.number)"
        case .recall(let sequence, let recall): "\(sequence) ends as \(recall) if it can"
        case .reschedule(let sequence, let progress):
            "reschedule \(sequence) \(progress.attempts)/\(progress.failures)/\(progress.rejections)"
        case .reassign(let sequence, let decision, let placement):
            "reassign \(sequence) to \(decision.session?.text ?? "-") \(describe(placement))"
        case .settle(let sequence, let settlement, _): "settle \(sequence) \(settlement)"
        case .forget(let sequence): "forget \(sequence)"
        case .forgetAnswer(let key): "forget the answer to \(key.key)"
        case .putReplay(let replay): "\(replay.id) \(replay.state), has come to \(replay.position)"
        case .putPasscodeLock(let lock): "passcode of \(lock.key): \(lock.tries) tries"
        default: "\(change)"
        }
    }

    private func describe(_ placement: Placement) -> String {
        switch placement {
        case .lane: "in its lane"
        case .held(let until): "held until +\(until.milliseconds - 1_767_225_600_000)ms"
        case .gated(let device): "behind the gate of \(device?.text ?? "no device")"
        case .settled(let settlement): "settled \(settlement)"
        }
    }

    func describe(_ outcome: TransferResult.Outcome) -> String {
        switch outcome {
        case .response(let response):
            response.retryAfterSeconds.map { "\(response.status), retry after \($0) s" } ?? "\(response.status)"
        case .failure(let failure): failure.kind.rawValue
        }
    }
}
