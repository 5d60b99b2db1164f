package import Router

/// Counts connections by address, and decides the standing of each new one.
///
/// When all connections are taken, a new one of an address that has fewer is served all the same, and the address that has
/// the most gives one of its idle connections up for it: no address keeps the others out.
///
/// Connections beyond the limits are few, few from each address, and end soon, so that health checks are answered even when
/// the daemon is full.
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
    private let spare: Int
    private var total = Count()
    private var byAddress: [IPAddress?: Count] = [:]

    /// - Parameters:
    ///   - tooMany: The greatest number of connections that are told that they are too many.
    ///   - spare: The greatest number of connections beyond all that are served while others are given up for them.
    package init(
        connections: Int, perAddress: Int, tooMany: Int = DaemonLimits.connectionsTurnedAway,
        spare: Int = DaemonLimits.connectionsSpare
    ) {
        self.connections = connections
        self.spare = spare
        self.perAddress = perAddress
        self.tooMany = tooMany
    }

    /// The number of served connections.
    package var served: Int { total.served }
    /// The number of addresses with at least one connection.
    package var addresses: Int { byAddress.count }

    /// The address that has to give up an idle connection so that a new one of another address may be served; nil if the
    /// new one takes none's place.
    package func addressToRelieve(for address: IPAddress?) -> IPAddress?? {
        guard total.served >= connections, total.served < connections + spare,
            let most = byAddress.max(by: { $0.value.served < $1.value.served }),
            most.value.served > (byAddress[address]?.served ?? 0) + 1
        else { return nil }
        return .some(most.key)
    }

    /// Opens a connection. Each but those of the standing `turnedAway` has to be closed in the end.
    package mutating func open(from address: IPAddress?) -> Standing {
        var count = byAddress[address] ?? Count()
        let standing: Standing =
            if count.served >= perAddress {
                total.served >= connections ? .tooMany : .tooManyOfAddress
            } else if total.served >= connections, addressToRelieve(for: address) == nil {
                .tooMany
            } else {
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
