package import RouterPlugin

extension Command {
    /// The application in whose line the command waits for the engine; nil for commands of operators, and for the router's own.
    /// The outcome of an attempt belongs to the receiver's application, which its sender knows.
    package var tenant: ApplicationID? {
        switch self {
        case .attachConsumer(let key, epoch: _, isPoll: _), .detachConsumer(let key, epoch: _): key.application
        case .acknowledge(let acknowledgement): acknowledgement.session.application
        case .gate(let request): request.application
        case .passcode(let request): request.speaker.session.application
        case .rotateSecret(let place, _, once: _): place.application
        case .putSource(let draft): draft.definition.application
        case .putApplication(let draft): draft.application.id
        case .deleteApplication(let id): id
        case .beginBatch(let key, fingerprint: _): key.application
        case .replay(let draft): draft.filter.application
        case .logged(let command, _): command.tenant
        default: waitingApplication
        }
    }

    /// The command's part of a turn, of which an ordinary notification takes one: some thirty microseconds.
    package var weight: Int {
        switch self {
        case .accept(let request): request.weight
        case .acceptAll(let requests): max(1, requests.reduce(0) { $0 + $1.weight })
        case .putSession(_, let draft, once: _): 1 + draft.conditions.textBytes / Self.bytesIndexedAtOnce
        case .patchSession(_, let patch):
            1 + [patch.canActivate, patch.prefersToActivate].reduce(0) { $0 + ($1?.value?.textBytes ?? 0) }
                / Self.bytesIndexedAtOnce
        default: 1
        }
    }

    /// To index the text of a predicate takes some 0.3 microseconds a byte.
    private static let bytesIndexedAtOnce = 100
}

extension AcceptRequest {
    /// Its notifications, at most.
    fileprivate var weight: Int { if case .all? = broadcast { mostReceivers } else { 1 } }
}
