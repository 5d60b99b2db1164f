import Glibc

/// The plan of a load run: requests at times that do not depend on how fast they are answered.
///
/// An open loop. A client that waits for one answer before it sends the next request slows down with the daemon and so
/// hides its worst moments; here every request has its time, and its duration is counted from that time on.
package struct LoadPlan: Hashable, Sendable {
    /// Requests a second, on average.
    package var rate: Double
    package var seconds: Double
    /// Sessions to choose among; each has a lane.
    package var sessions: Int
    package var payloadBytes: Int
    package var seed: UInt64

    package init(rate: Double, seconds: Double, sessions: Int, payloadBytes: Int, seed: UInt64) {
        self.rate = rate
        self.seconds = seconds
        self.sessions = sessions
        self.payloadBytes = payloadBytes
        self.seed = seed
    }

    /// A request of the plan.
    package struct Arrival: Hashable, Sendable {
        /// When it is due, in nanoseconds from the start.
        package var due: UInt64
        /// The session that its content belongs to.
        package var session: Int
    }

    /// All requests in the order of their times: those of a Poisson process, as of many clients that know nothing of
    /// one another. The same plan gives the same requests.
    package func arrivals() -> [Arrival] {
        var (random, time, arrivals) = (LoadRandom(state: seed), 0.0, [Arrival]())
        while true {
            time += -log(1 - Double.random(in: 0..<1, using: &random)) / rate
            guard time < seconds else { return arrivals }
            arrivals.append(Arrival(due: UInt64(time * 1e9), session: .random(in: 0..<sessions, using: &random)))
        }
    }

    /// The content id of a session's notifications, which that session alone can show.
    package func contentID(_ session: Int) -> String { "load://session/\(session)" }

    /// A payload of about the size wanted.
    package func payload(_ session: Int) -> [UInt8] {
        let head = #"{"notification-content-id":"\#(contentID(session))","aps":{"alert":""#
        let rest = max(payloadBytes - head.utf8.count - 3, 0)
        return Array((head + String(repeating: "a word or two ", count: rest / 14 + 1).prefix(rest) + #""}}"#).utf8)
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
