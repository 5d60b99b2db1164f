import RouterPlugin

/// The greatest costs of operations, by the name of the benchmark. Times are no part of it: they depend on the machine.
struct Thresholds {
    /// The limits of one benchmark.
    private struct Limits {
        let allocations: Double
        let retains: Double
        /// The reason why the limits are not 0, if they are not.
        let why: String?
    }

    /// The reason why a text has no thresholds.
    enum Malformed: Error {
        case root
        case limits(of: String)
    }

    private var limits: [String: Limits] = [:]

    /// Reads an object with a benchmark's limits under each name.
    init(parsing text: String) throws {
        guard let members = try JSONValue(parsing: Array(text.utf8)).asObject?.members else { throw Malformed.root }
        for member in members {
            guard let allocations = member.value["allocations"]?.asDouble,
                let retains = member.value["retains"]?.asDouble
            else { throw Malformed.limits(of: member.key) }
            limits[member.key] = Limits(
                allocations: allocations, retains: retains, why: member.value["why"]?.asString)
        }
    }

    /// The findings about measurements.
    struct Findings {
        /// Limits that are exceeded, benchmarks without a threshold or without a measurement, and thresholds above 0
        /// without a reason.
        var faults: [String] = []
        /// Thresholds that are higher than the measurements need.
        var couldBeLower: [String] = []
    }

    func findings(on measurements: [Measurement]) -> Findings {
        var findings = Findings()
        for measurement in measurements {
            if let limits = limits[measurement.name] {
                compare(measurement, with: limits, &findings)
            } else {
                findings.faults.append("\(measurement.name): has no threshold")
            }
        }
        let unknown = Set(limits.keys).subtracting(measurements.map(\.name)).sorted()
        findings.faults += unknown.map { "\($0): has a threshold and no benchmark" }
        return findings
    }

    private func compare(_ measurement: Measurement, with limits: Limits, _ findings: inout Findings) {
        let (name, counts) = (measurement.name, measurement.perOperation)
        let pairs = [
            ("allocations", counts.allocations, limits.allocations), ("retains", counts.retains, limits.retains),
        ]
        for (what, found, limit) in pairs {
            if found > limit {
                findings.faults.append("\(name): \(found) \(what) an operation, at most \(limit)")
            } else if found < 0.95 * limit - 0.01 {
                findings.couldBeLower.append(
                    "\(name): \(found) \(what) an operation, the threshold of \(limit) could be lower")
            }
        }
        if pairs.contains(where: { $0.2 > 0 }), limits.why == nil {
            findings.faults.append("\(name): a threshold above 0 needs a why")
        }
    }
}
