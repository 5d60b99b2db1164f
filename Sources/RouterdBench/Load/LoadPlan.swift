import Glibc
import RouterPlugin

/// The plan of a load run.
///
/// In the open model requests come at times that do not depend on how fast they are answered. In the closed model a number of
/// clients each wait for one answer before they send the next request: they slow down with the daemon, and so hide its worst
/// moments. In the open model every request has its time, and its duration is counted from that time on.
package struct LoadPlan: Hashable, Sendable {
    /// Requests a second, on average.
    package var rate: Double
    package var seconds: Double
    /// The sessions, each of which has a lane, and the contents to choose among.
    package var workload: LoadWorkload
    package var payloadBytes: Int
    package var seed: UInt64
    /// How the rate of the open model changes.
    package var shape = Shape.steady
    /// The clients of the closed model; nil for the open model.
    package var clients: Int?
    /// The receivers that do not take every webhook.
    package var receivers = ReceiverMix()
    /// Whether these take all of them in this run, which measures the others without them.
    package var healsReceivers = false
    /// Sessions that get another state, each second.
    package var churn = 0.0
    /// The connections of all senders together.
    package var connections = 128
    /// The senders that share the requests, each with connections of its own.
    package var generators = 1

    /// The rate of the open model over time; on average it is always the same.
    package enum Shape: String, CaseIterable, Hashable, Sendable {
        /// One rate.
        case steady
        /// Four steps, from two fifths of the rate to eight fifths.
        case steps
        /// Of each five seconds, one has three times the rate and the other four half of it.
        case bursts

        /// The factors of the rate, each for the same part of the period; the period in seconds, nil for the whole run.
        fileprivate var factors: (list: [Double], period: Double?) {
            switch self {
            case .steady: ([1], nil)
            case .steps: ([0.4, 0.8, 1.2, 1.6], nil)
            case .bursts: ([3, 0.5, 0.5, 0.5, 0.5], 5)
            }
        }
    }

    package init(rate: Double, seconds: Double, workload: LoadWorkload, payloadBytes: Int, seed: UInt64) {
        self.rate = rate
        self.seconds = seconds
        self.workload = workload
        self.payloadBytes = payloadBytes
        self.seed = seed
    }

    /// A plan whose sessions can show one content each.
    package init(rate: Double, seconds: Double, sessions: Int, payloadBytes: Int, seed: UInt64) {
        let workload = LoadWorkload(.exact, sessions: sessions, seed: seed)
        self.init(rate: rate, seconds: seconds, workload: workload, payloadBytes: payloadBytes, seed: seed)
    }

    /// A request of the plan.
    package struct Arrival: Hashable, Sendable {
        /// When it is due, in nanoseconds from the start.
        package var due: UInt64
        /// The place of its content.
        package var content: Int
    }

    /// All requests in the order of their times: those of a Poisson process, as of many clients that know nothing of
    /// one another. The same plan gives the same requests.
    package func arrivals() -> [Arrival] {
        var (random, time, arrivals) = (LoadRandom(state: seed), 0.0, [Arrival]())
        let ((factors, period), contents) = (shape.factors, workload.contents.count)
        let part = (period ?? seconds) / Double(factors.count)
        while true {
            // The time in which a process of rate 1 has its next arrival passes faster where the rate is higher.
            var rest = -log(1 - Double.random(in: 0..<1, using: &random))
            while time < seconds {
                let place = Int(time / part)
                let rate = rate * factors[place % factors.count]
                let left = (Double(place + 1) * part - time) * rate
                guard rest > left else { break }
                rest -= left
                // Never less than the end of the part, however it is rounded.
                time = max(Double(place + 1) * part, time.nextUp)
            }
            guard time < seconds else { return arrivals }
            time += rest / (rate * factors[Int(time / part) % factors.count])
            guard time < seconds else { return arrivals }
            arrivals.append(Arrival(due: UInt64(time * 1e9), content: .random(in: 0..<contents, using: &random)))
        }
    }

    /// The content of each request of a client in the closed model.
    package func contents(ofClient client: Int) -> some Sequence<Int> {
        let contents = workload.contents.count
        return sequence(state: LoadRandom(state: seed &+ UInt64(client) &* 0x9E37_79B9_7F4A_7C15)) { random in
            Int.random(in: 0..<contents, using: &random)
        }
    }

    package var sessions: Int { workload.sessions.count }

    /// How the receiver of a session is meant to behave.
    package func behaviour(of session: Int) -> ReceiverMix.Behaviour {
        receivers.behaviour(of: session, among: sessions)
    }
}

/// The payloads of a run: each names its content, and has about the size wanted.
package struct LoadPayloads: Sendable {
    private let contents: [String]
    private let bytes: Int
    private let filling: [UInt8]

    package init(_ plan: LoadPlan) {
        (contents, bytes) = (plan.workload.contents, plan.payloadBytes)
        let words = "a word or two "
        filling = Array(repeating: words.utf8, count: bytes / words.utf8.count + 1).flatMap(\.self)
    }

    package subscript(content: Int) -> [UInt8] {
        var payload = JSONWriter.object(reserving: bytes) { $0.field("notification-content-id", contents[content]) }
        payload.removeLast()
        payload += #","aps":{"alert":""#.utf8
        let end = #""}}"#.utf8
        return payload + filling.prefix(max(bytes - payload.count - end.count, 0)) + end
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014): small, and the same everywhere.
struct LoadRandom: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
