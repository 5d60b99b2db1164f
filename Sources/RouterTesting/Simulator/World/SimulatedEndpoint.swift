package import Router
package import RouterPlugin

/// The current behaviour of an endpoint.
package enum EndpointBehaviour: String, CaseIterable, Sendable {
    case ok, slow, rejecting, unauthorized, failing, unavailable, throttling, gone, hanging, resetting, refusing
    case redirecting, unusable, guarded, shuttingDown
}

/// One request, from the start of the attempt to the end of the exchange.
package struct Transfer: Sendable {
    package var attempt: AttemptStart
    /// The life of the process that sent it.
    package var life: Int
    package var startedAt: Timestamp
    /// The time at which it reaches the endpoint; nil if it never does, or already has.
    package var arrivesAt: Timestamp?
    /// The time at which the sender learns the outcome.
    package var endsAt: Timestamp
    package var outcome: TransferResult.Outcome

    /// Whether the endpoint accepted the message.
    package var isSuccess: Bool {
        if case .response(let response) = outcome { (200...299).contains(response.status) } else { false }
    }

    /// Shifts the times after the clock was set; the durations stay the same.
    mutating func shift(byMilliseconds delta: Int64) {
        startedAt = startedAt.advanced(byMilliseconds: delta)
        arrivesAt = arrivesAt?.advanced(byMilliseconds: delta)
        endsAt = endsAt.advanced(byMilliseconds: delta)
    }

    /// Draws the outcome of an attempt at an endpoint with this behaviour.
    package init(
        _ attempt: AttemptStart, life: Int, at now: Timestamp, _ behaviour: EndpointBehaviour,
        using generator: inout SeededGenerator
    ) {
        self.attempt = attempt
        self.life = life
        startedAt = now
        let limit = Int64(attempt.timeoutSeconds) * 1000
        var duration = Int64.random(in: 0...200, using: &generator)
        var arrives = true
        switch behaviour {
        case .ok, .rejecting, .unauthorized, .failing, .unavailable, .throttling, .gone, .redirecting:
            outcome = Self.response(behaviour, using: &generator)
        case .slow:
            duration = Int64.random(in: 0...limit, using: &generator)
            outcome = Self.response(.ok, using: &generator)
        case .hanging:
            duration = limit
            outcome = Self.failure(.timedOut)
        case .resetting:
            arrives = Bool.random(using: &generator)
            outcome = Self.failure(.connectionLost)
        case .refusing:
            arrives = false
            outcome = Self.failure(.connectFailed)
        case .unusable:
            arrives = false
            // A format other than the standard one is as good a reason as the URL.
            outcome = Self.failure(attempt.endpoint.format.isStandard ? .unusableURL : .formatFailed)
        case .guarded:
            arrives = false
            outcome = Self.failure(.egressRefused)
        case .shuttingDown:
            arrives = false
            outcome = Self.failure(.shuttingDown)
        }
        endsAt = now.advanced(byMilliseconds: duration)
        arrivesAt = arrives ? now.advanced(byMilliseconds: duration / 2) : nil
    }

    private static func response(
        _ behaviour: EndpointBehaviour, using generator: inout SeededGenerator
    ) -> TransferResult.Outcome {
        let statuses: [Int] =
            switch behaviour {
            case .rejecting: [400, 404, 409, 413, 422]
            case .unauthorized: [401, 403]
            case .failing: [500, 502, 421, 100]
            case .unavailable: [503]
            case .throttling: [408, 425, 429]
            case .gone: [410]
            case .redirecting: [301, 302, 307, 304]
            default: [200, 201, 202, 204, 299]
            }
        var response = ReceivedResponse(status: statuses.randomElement(using: &generator) ?? 200)
        if behaviour == .throttling || behaviour == .unavailable {
            response.retryAfterSeconds = [nil, 0, 1, 30, 600, 1_000_000].randomElement(using: &generator) ?? nil
        }
        return .response(response)
    }

    private static func failure(_ kind: TransferFailure.Kind) -> TransferResult.Outcome {
        .failure(TransferFailure(kind: kind, message: "simulated"))
    }
}

/// A receiver of webhooks: its current behaviour, and the requests that have arrived so far.
package struct SimulatedEndpoint: Sendable {
    /// A request that arrived.
    package struct Arrival: Hashable, Sendable {
        package var webhookID: String
        package var attempt: Int
        package var session: SessionKey
        package var at: Timestamp
        package var isSuccess: Bool
    }

    package var behaviour: EndpointBehaviour
    package private(set) var ledger: [Arrival] = []

    package init(behaviour: EndpointBehaviour) { self.behaviour = behaviour }

    /// Records a request.
    package mutating func receive(_ transfer: Transfer, at now: Timestamp) {
        ledger.append(
            Arrival(
                webhookID: Identity.delivery(of: transfer.attempt.notification.id), attempt: transfer.attempt.number,
                session: transfer.attempt.receiver, at: now, isSuccess: transfer.isSuccess))
    }
}
