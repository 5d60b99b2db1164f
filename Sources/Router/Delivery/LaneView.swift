import RouterPlugin

/// The lanes as plans see them: read-only, and without the resources of the node.
struct LaneView {
    let lanes: LaneTable
    private let laneOf: [NotificationSequence: UInt32]

    init(_ lanes: LaneTable, _ laneOf: [NotificationSequence: UInt32]) {
        self.lanes = lanes
        self.laneOf = laneOf
    }

    subscript(key: SessionKey) -> Lane? { lanes[key] }

    /// The lane of a delivery; nil if it is in none.
    func lane(of sequence: NotificationSequence) -> SessionKey? {
        guard let number = laneOf[sequence] else { return nil }
        return lanes.key(number)
    }

    func delivery(_ sequence: NotificationSequence) -> QueuedDelivery? {
        lane(of: sequence).flatMap { key in lanes.read(key) { $0.delivery(sequence) } ?? nil }
    }

    /// Whether an attempt of the delivery is under way.
    func isInFlight(_ sequence: NotificationSequence) -> Bool {
        if case .inFlight = delivery(sequence)?.machine.state { true } else { false }
    }
}
