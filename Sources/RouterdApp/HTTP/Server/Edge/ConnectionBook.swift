package import Router

/// The open connections: counts them and decides the standing of each new one.
///
/// Connections beyond the limit are few, few from each address, and end soon, so that a health check gets an answer
/// even when the daemon is full.
package struct ConnectionBook: Equatable, Sendable {
    /// The rights of a connection.
    package enum Standing: Hashable, Sendable {
        case served
        /// Beyond the limit of its address: health checks only.
        case tooManyOfAddress
        /// Beyond the limit of all connections: health checks only.
        case tooMany
        /// Beyond the limit of refused connections too: closed without an answer.
        case turnedAway
    }

    private struct Count: Equatable, Sendable {
        var served = 0
        var others = 0
    }

    private let connections: Int
    private let perAddress: Int
    private let tooMany: Int
    private var total = Count()
    private var byAddress: [IPAddress?: Count] = [:]

    /// - Parameter tooMany: How many connections beyond the limit are answered with a refusal.
    package init(connections: Int, perAddress: Int, tooMany: Int = DaemonLimits.connectionsTurnedAway) {
        self.connections = connections
        self.perAddress = perAddress
        self.tooMany = tooMany
    }

    /// The number of served connections.
    package var served: Int { total.served }
    /// The number of addresses with at least one connection.
    package var addresses: Int { byAddress.count }

    /// Counts a new connection. The caller has to `close` every connection whose standing is not `turnedAway`.
    package mutating func open(from address: IPAddress?) -> Standing {
        var count = byAddress[address] ?? Count()
        let standing: Standing =
            if total.served >= connections { .tooMany } else if count.served >= perAddress { .tooManyOfAddress } else {
                .served
            }
        if standing == .served {
            count.served += 1
            total.served += 1
        } else {
            guard total.others < tooMany,
                count.others < DaemonLimits.connectionsTurnedAwayPerAddress
            else { return .turnedAway }
            count.others += 1
            total.others += 1
        }
        byAddress[address] = count
        return standing
    }

    package mutating func close(from address: IPAddress?, _ standing: Standing) {
        guard standing != .turnedAway, var count = byAddress[address] else { return }
        if standing == .served {
            count.served -= 1
            total.served -= 1
        } else {
            count.others -= 1
            total.others -= 1
        }
        byAddress[address] = count == Count() ? nil : count
    }
}

extension IPAddress {
    /// The holder of the address: an IPv6 host has a network of 64 bits to choose its addresses from.
    package var holder: IPAddress {
        guard case .v6(let number) = unmapped else { return unmapped }
        return .v6((number >> 64) << 64)
    }
}
