import CCurl

/// The life of the request in a slot, driven by the loop and by libcurl's callbacks.
///
///            prepare          handOver                send
///     idle ─────────▶ prepared ──────▶ connecting ──────────▶ sending ─┐ send: libcurl repeats the request
///                        ▲              ▲  │   │              │  │ ▲───┘ over another connection
///                        │              │  │   └──────┬───────┼──┘
///                        │              │  │          │       │ needAddresses
///                        │     handOver │  └──────────┼───────┤
///                        │              │             │       ▼
///                        │           awaiting ◀───────┼── unresolved
///                        │                awaitAddresses
///                        └────────────────────────────┘
///                              useOwnConnection                      clear: from every phase to idle
///
/// Invariants: libcurl has the request in connecting, sending and unresolved, and in no other phase; a request that was
/// given a connection stays begun until it is cleared; it asks for addresses, and for a connection of its own, a
/// bounded number of times. An event that the phase does not allow changes nothing, and is answered by false.
struct TransferStateMachine: Hashable {
    enum Phase: Hashable {
        /// There is no request. Can transition to: prepared.
        case idle
        /// The request is set up, and libcurl does not have it. Can transition to: connecting, idle.
        case prepared
        /// libcurl looks for a connection. Can transition to: sending, unresolved, prepared, idle.
        case connecting
        /// libcurl has a connection, and sends the request over it. Can transition to: sending, over another
        /// connection; unresolved, prepared, idle.
        case sending
        /// libcurl was refused a look-up, and is about to give the request back. Can transition to: awaiting, prepared,
        /// idle.
        case unresolved
        /// The request waits for its host's addresses until that moment, in the monotonic clock's nanoseconds. Can
        /// transition to: awaiting, until another moment; connecting, idle.
        case awaiting(until: UInt64)
    }

    /// The connection that a request was given, and the moment, in the monotonic clock's nanoseconds.
    struct Sent: Hashable {
        var over: Connection
        var at: UInt64
    }

    /// The next step when libcurl gives a request back.
    enum FinishAction: Hashable {
        /// Take the request out of libcurl, and look its host up.
        case awaitAddresses
        /// Take the request out of libcurl, and hand it over again for a connection of its own.
        case useOwnConnection
        /// Report the result.
        case finish
    }

    private(set) var phase: Phase = .idle
    /// The connection that the request was given last. It stays when that turns out to be dead and libcurl repeats the
    /// request over another one.
    private(set) var sent: Sent?
    /// Whether the request is to have a connection of its own, because it may not use an existing one.
    private(set) var hasOwnConnection = false
    private var lookUps = 0

    /// Whether libcurl was about to send the request, now or earlier: the receiver may have it.
    var hasBegun: Bool { sent != nil }

    /// Whether libcurl has the request.
    var isHandedOver: Bool {
        switch phase {
        case .connecting, .sending, .unresolved: true
        case .idle, .prepared, .awaiting: false
        }
    }

    /// The end of the wait for addresses; nil if the request does not wait for any.
    var awaitsUntil: UInt64? { if case .awaiting(let moment) = phase { moment } else { nil } }

    // MARK: Events of the loop

    /// The request is set up in an idle slot.
    mutating func prepare() -> Bool { move(to: .prepared, if: phase == .idle) }

    /// libcurl gets the request.
    mutating func handOver() -> Bool { move(to: .connecting, if: phase == .prepared || awaitsUntil != nil) }

    /// The loop has taken the request out of libcurl, and waits for addresses; or it waits until another moment.
    mutating func awaitAddresses(until moment: UInt64) -> Bool {
        move(to: .awaiting(until: moment), if: phase == .unresolved || awaitsUntil != nil)
    }

    /// The loop has taken the request out of libcurl, to hand it over for a connection of its own.
    mutating func useOwnConnection() -> Bool {
        guard move(to: .prepared, if: isHandedOver && !hasOwnConnection) else { return false }
        hasOwnConnection = true
        return true
    }

    mutating func clear() { self = TransferStateMachine() }

    /// The next step after libcurl has given the request back. Changes nothing: the step is an event of its own.
    func finished(_ code: CURLcode) -> FinishAction {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST where phase == .unresolved: .awaitAddresses
        // The request was refused a connection that existed. That says nothing of one of its own: the existing one may
        // have been opened for an application with more grants, or be silent.
        case CURLE_ABORTED_BY_CALLBACK where isHandedOver && !hasOwnConnection: .useOwnConnection
        default: .finish
        }
    }

    // MARK: Events of libcurl

    /// libcurl has no addresses for the host. The request gets some if this is allowed, and fails otherwise.
    mutating func needAddresses() -> Bool {
        guard isHandedOver, lookUps < CurlLimits.lookUpsPerRequest else { return false }
        lookUps += 1
        return move(to: .unresolved, if: true)
    }

    /// libcurl sends the request over a connection, if this is allowed.
    mutating func send(over connection: Connection, at now: UInt64) -> Bool {
        guard move(to: .sending, if: phase == .connecting || phase == .sending) else { return false }
        sent = Sent(over: connection, at: now)
        return true
    }

    private mutating func move(to next: Phase, if isAllowed: Bool) -> Bool {
        if isAllowed { phase = next }
        return isAllowed
    }
}
