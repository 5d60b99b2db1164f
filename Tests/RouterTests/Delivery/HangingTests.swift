import Router
import RouterPlugin
import RouterTesting
import Testing

/// Some endpoints hang; the healthy ones must hardly be affected.
@Suite("The lane planner: one in a hundred hangs")
struct HangingTests {
    /// Many endpoints with a session each, and a steady stream of notifications for them, in virtual time.
    private struct Town {
        private struct End {
            let at: Int64
            let sequence: NotificationSequence
        }

        /// Attempts that take equally long end in the order in which they started.
        private struct Ends {
            private var ends: [End] = []
            private var first = 0

            var next: Int64 { first < ends.count ? ends[first].at : .max }

            mutating func append(_ end: End) { ends.append(end) }

            mutating func take() -> End {
                defer { first += 1 }
                return ends[first]
            }
        }

        static let endpoints = 10_000
        private static let millisecondsOfAnAnswer: Int64 = 500

        private var planner: LanePlanner
        private let hanging: Int
        /// The number of notifications at a time for a hanging endpoint, so that its lane is never empty.
        private let burst: Int
        private let millisecondsToTimeOut: Int64
        private var lastSequence = NotificationSequence(0)
        private var generator = SeededGenerator(seed: 9)
        private var answers = Ends()
        private var timeouts = Ends()
        private var timers: [(at: Int64, step: LanePlanner.Step)] = []
        private var accepted: [NotificationSequence: (at: Int64, number: Int)] = [:]
        private var latencies: [Int64] = []

        private init(_ caps: DeliveryCaps, hanging: Int, burst: Int, _ millisecondsToTimeOut: Int64) {
            planner = LanePlanner(caps: caps)
            self.hanging = hanging
            self.burst = burst
            self.millisecondsToTimeOut = millisecondsToTimeOut
        }

        /// The time in milliseconds within which this many healthy deliveries were made; and how many deliveries are
        /// left in lanes.
        static func run(
            _ caps: DeliveryCaps, hanging: Int, burst: Int = 1, millisecondsToTimeOut: Int64 = 15_000
        ) -> (percentile99: Int64, left: Int) {
            var town = Town(caps, hanging: hanging, burst: burst, millisecondsToTimeOut)
            // Sixty a second: half of the capacity of sixty-four slots.
            for number in 0..<24_000 as Range<Int64> { town.live(until: number * 1000 / 60) }
            let sorted = town.latencies.sorted()
            return (sorted[sorted.count * 99 / 100], town.planner.count)
        }

        private mutating func live(until time: Int64) {
            while min(answers.next, timeouts.next) <= time {
                finish(answers.next <= timeouts.next ? answers.take() : timeouts.take())
            }
            let number = Int.random(in: 0..<Self.endpoints, using: &generator)
            let session = SessionID(unchecked: String(number))
            for _ in 0..<(number < hanging ? burst : 1) {
                lastSequence = NotificationSequence(lastSequence.value + 1)
                let notification = UnsettledNotification.numbered(lastSequence, to: session)
                accepted[notification.sequence] = (time, number)
                planner.enqueue(
                    QueuedDelivery(notification, payload: nil), in: .gallery(session), sessionExists: true)
            }
            start(at: time)
        }

        private mutating func finish(_ end: End) {
            guard let (at, number) = accepted[end.sequence] else { return }
            let now = Timestamp.millisecond(end.at)
            let isHanging = number < hanging
            planner.learn(
                from: end.sequence, isHanging ? .unreachable(.timedOut) : .success, status: nil,
                milliseconds: isHanging ? millisecondsToTimeOut : Self.millisecondsOfAnAnswer,
                hasRunOutOfTime: isHanging, at: now, using: &generator)
            if isHanging {
                planner.reschedule(
                    end.sequence, DeliveryProgress(attempts: 1, notBefore: now.advanced(byMilliseconds: 1000)))
            } else {
                latencies.append(end.at - at)
                planner.remove(end.sequence)
            }
            start(at: end.at)
        }

        private mutating func start(at time: Int64) {
            let now = Timestamp.millisecond(time)
            for timer in timers where timer.at <= time {
                switch timer.step {
                case .wake(let key, _): planner.timeHasCome(for: key)
                case .wakeEndpoint(let endpoint, _): planner.timeHasCome(for: endpoint, at: now)
                default: break
                }
            }
            timers.removeAll { $0.at <= time }
            while let step = planner.next(at: now, terms: { LaneTerms(url: "https://\($0.session).example/") }) {
                switch step {
                case .attempt(_, let delivery, _):
                    let isHanging = (accepted[delivery.notification.sequence]?.number ?? 0) < hanging
                    let sequence = delivery.notification.sequence
                    if isHanging {
                        timeouts.append(End(at: time + millisecondsToTimeOut, sequence: sequence))
                    } else {
                        answers.append(End(at: time + Self.millisecondsOfAnAnswer, sequence: sequence))
                    }
                case .wake(_, let at), .wakeEndpoint(_, let at):
                    timers.append((at.milliseconds - Timestamp.epoch.milliseconds, step))
                case .ended: break
                }
            }
        }
    }

    @Test("The slowest of a hundred healthy deliveries take less than twice as long as with none hanging")
    func shielded() {
        let caps = DeliveryCaps(slots: 64, perOrigin: 64)
        let baseline = Town.run(caps, hanging: 0).percentile99
        let hanging = Town.run(caps, hanging: Town.endpoints / 100).percentile99
        #expect(hanging < 2 * baseline, "\(hanging) ms, \(baseline) ms without")
    }

    /// Hanging endpoints always have more to receive and retry at once: one endpoint in a hundred, and more where an
    /// application's time limit ends attempts before they would count as slow by their duration.
    @Test(
        "A backlog of hanging endpoints does not slow the others either",
        arguments: [(share: 100, millisecondsToTimeOut: 15_000), (share: 33, millisecondsToTimeOut: 4900)])
    func backlog(share: Int, millisecondsToTimeOut: Int64) {
        let caps = DeliveryCaps(slots: 64, perOrigin: 64)
        let baseline = Town.run(caps, hanging: 0)
        let hanging = Town.run(
            caps, hanging: Town.endpoints / share, burst: 50, millisecondsToTimeOut: millisecondsToTimeOut)
        #expect(hanging.percentile99 < 2 * baseline.percentile99, "\(hanging) ms, \(baseline) ms without")
        #expect(hanging.left > 50 * Town.endpoints / 100, "\(hanging.left) wait at the end")
    }

    /// Without this the tests above would prove nothing about the slots.
    @Test("Without slots for slow endpoints the healthy deliveries take much longer", arguments: [1, 50])
    func unshielded(burst: Int) {
        let caps = DeliveryCaps(slots: 64, perOrigin: 64, slow: 64)
        let hanging = Town.run(caps, hanging: Town.endpoints / 100, burst: burst).percentile99
        #expect(hanging > 2 * Town.run(caps, hanging: 0).percentile99, "\(hanging) ms")
    }
}
