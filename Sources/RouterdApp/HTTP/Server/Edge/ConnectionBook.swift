package import Router

/// Counts connections by address, and decides the admission of each new one.
///
/// When all connections are taken, a new one of an address that has fewer is served all the same, and the address that has
/// the most gives one of its idle connections up for it: no address keeps the others out.
///
/// Connections beyond the limits are few, few from each address, and end soon, so that health checks are answered even when
/// the daemon is full.
package struct ConnectionBook: Equatable, Sendable {
    /// The rights of a connection.
    package enum Admission: Hashable, Sendable {
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

    /// - Parameter tooMany: The greatest number of connections beyond all: those that are told so, and, up to half of them,
    ///   those that are served while others are given up for them.
    package init(connections: Int, perAddress: Int, tooMany: Int = DaemonLimits.connectionsTurnedAway) {
        self.connections = connections
        self.perAddress = perAddress
        self.tooMany = tooMany
    }

    /// The number of served connections.
    package var served: Int { total.served }
    /// The number of addresses with at least one connection.
    package var addresses: Int { byAddress.count }

    /// The number of open connections beyond all.
    private var beyond: Int { total.others + max(0, total.served - connections) }

    /// The address that has to give up an idle connection so that a new one of another address may be served; nil if there
    /// is none.
    private func addressToRelieve(for address: IPAddress?) -> IPAddress?? {
        guard total.served < connections + tooMany / 2, beyond < tooMany,
            let most = byAddress.max(by: { $0.value.served < $1.value.served }),
            most.value.served > (byAddress[address]?.served ?? 0) + 1
        else { return nil }
        return .some(most.key)
    }

    /// Opens a connection. Each but those of the admission `turnedAway` has to be closed in the end.
    ///
    /// - Parameter relieved: Set to the address that has to give up an idle connection for this one.
    package mutating func open(from address: IPAddress?, relieving relieved: inout IPAddress??) -> Admission {
        var count = byAddress[address] ?? Count()
        let isFull = total.served >= connections
        relieved = isFull && count.served < perAddress ? addressToRelieve(for: address) : nil
        let admission: Admission =
            if count.served >= perAddress {
                isFull ? .tooMany : .tooManyOfAddress
            } else {
                isFull && relieved == nil ? .tooMany : .served
            }
        if admission == .served {
            count.served += 1
            total.served += 1
        } else {
            guard beyond < tooMany,
                count.others < DaemonLimits.connectionsTurnedAwayPerAddress
            else { return .turnedAway }
            count.others += 1
            total.others += 1
        }
        byAddress[address] = count
        return admission
    }

    package mutating func close(from address: IPAddress?, _ admission: Admission) {
        guard admission != .turnedAway, var count = byAddress[address] else { return }
        if admission == .served {
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
