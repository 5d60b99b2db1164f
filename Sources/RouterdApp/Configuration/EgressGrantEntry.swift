import Router
import RouterPlugin

/// A grant of the egress guard in the configuration file.
enum EgressGrantEntry {
    private static let portsMaximum = 256

    /// Reads a grant, or reports all of its faults.
    static func read(_ value: JSONValue, at pointer: String) -> (grant: EgressGrant?, faults: [Problem]) {
        var faults = FaultList()
        guard var reader = faults.gather({ () throws(Problem) in try ObjectReader(value, at: pointer) }) else {
            return (nil, faults.problems)
        }
        var grant = EgressGrant()
        faults.gather { () throws(Problem) in
            grant.application = try reader.identifier("application", of: IdentifierKinds.Application.self)
        }
        let place: Void? = faults.gather { () throws(Problem) in grant.host = try host(&reader) }
        let network: Void? = faults.gather { () throws(Problem) in grant.network = try Self.network(&reader) }
        // A grant of everything has to be written out: leaving a line out must not grant everything.
        if grant.host == nil, grant.network == nil, place != nil, network != nil {
            faults.problems.append(reader.invalid("network", "or host must be there"))
        }
        faults.gather { () throws(Problem) in try readPorts(&reader, of: &grant) }
        faults.gather { () throws(Problem) in try reader.finish() }
        return (faults.problems.isEmpty ? grant : nil, faults.problems)
    }

    private static func readPorts(_ reader: inout ObjectReader, of grant: inout EgressGrant) throws(Problem) {
        for (place, element) in (try reader.array("ports", atMost: portsMaximum) ?? []).enumerated() {
            guard let range = ports(element) else {
                throw reader.invalid("ports/\(place)", "must be a port, or a range such as \"8000-8099\"")
            }
            grant.ports.append(range)
        }
        if case .value = reader.presence("ports"), grant.ports.isEmpty {
            throw reader.invalid("ports", "is empty; left out, it means all ports")
        }
    }

    private static func host(_ reader: inout ObjectReader) throws(Problem) -> HostPattern? {
        guard let text = try reader.string("host") else { return nil }
        do { return try HostPattern(text) } catch { throw reader.invalid("host", error.reason) }
    }

    private static func network(_ reader: inout ObjectReader) throws(Problem) -> IPNetwork? {
        guard let text = try reader.string("network") else { return nil }
        let network: IPNetwork
        do { network = try IPNetwork(text) } catch { throw reader.invalid("network", error.reason) }
        let found = SpecialRanges.classification(of: network)
        guard found.addressClass.tier != .forbidden else {
            let reason = "is \(found.addressClass.words) (\(found.range)), which no grant opens"
            throw reader.invalid("network", reason)
        }
        return network
    }

    private static func ports(_ value: JSONValue) -> ClosedRange<Int>? {
        if let number = value.asInt64 { return port(String(number)).map { $0...$0 } }
        guard let parts = value.asString?.split(separator: "-", omittingEmptySubsequences: false) else { return nil }
        guard (1...2).contains(parts.count), let first = port(parts[0]), let last = port(parts[parts.count - 1]),
            first <= last
        else { return nil }
        return first...last
    }

    private static func port(_ text: some StringProtocol) -> Int? {
        guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = Int(text), (1...65_535).contains(port)
        else { return nil }
        return port
    }
}
