package import Router

/// Who is connected: counts connections and decides what each new one may do.
///
/// The connections that are one too many are few, come few from each address, and end soon, so that somebody who asks
/// whether the daemon is well finds out even when it is not.
package struct ConnectionBook: Equatable, Sendable {
    /// What a connection may do.
    package enum Standing: Hashable, Sendable {
        case served
        /// One too many for its address: health checks only.
        case tooManyOfAddress
        /// One too many: health checks only.
        case tooMany
        /// One more than are even told so.
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

    /// - Parameter tooMany: How many are told that they are too many.
    package init(connections: Int, perAddress: Int, tooMany: Int = DaemonLimits.connectionsTurnedAway) {
        self.connections = connections
        self.perAddress = perAddress
        self.tooMany = tooMany
    }

    /// How many are served.
    package var served: Int { total.served }
    /// How many addresses are known; none that has no connection.
    package var addresses: Int { byAddress.count }

    /// A connection opens. Whoever is told anything but `turnedAway` has to `close` it in the end.
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
    /// Whom the address stands for: an IPv6 host has a network of 64 bits to choose its addresses from.
    package var holder: IPAddress {
        guard case .v6(let number) = unmapped else { return unmapped }
        return .v6((number >> 64) << 64)
    }
}
