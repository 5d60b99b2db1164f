import Router
import RouterPlugin

/// An act of a receiver that connects out. It comes in time, too late, more than once, or from the wrong session; receivers
/// outlive the process.
struct ReceiverAct {
    enum Kind {
        case connect(isPoll: Bool)
        case take(Delivery)
        /// The receiver cannot take it now, and may name the time of the next attempt.
        case refuse(Delivery, seconds: Int?)
    }

    /// A delivery as a receiver names it.
    struct Delivery {
        let id: NotificationID
        let sequence: NotificationSequence
        /// The life of the process that sent it.
        let life: Int
        /// Whether the receiver was sent it; otherwise it speaks of the delivery of another session.
        let isOwn: Bool
    }

    let session: SessionKey
    let kind: Kind
    private(set) var at: Timestamp

    /// Shifts the time after the clock was set.
    mutating func shift(byMilliseconds delta: Int64) { at = at.advanced(byMilliseconds: delta) }
}

/// The word of a receiver about a delivery, on its way through the engine.
struct ReceiverWord {
    let act: ReceiverAct
    let delivery: ReceiverAct.Delivery
    let isTaken: Bool
    /// The attempt that it ends; nil if none is under way.
    let pending: SimulatedHub.Pending?
    /// Whether the delivery had ended before.
    let isRepetition: Bool
    /// Whether the delivery was one of the session that it was sent.
    let isTheirs: Bool
}
