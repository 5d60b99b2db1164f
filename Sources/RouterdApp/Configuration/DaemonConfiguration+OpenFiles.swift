import DeliveryCurl

/// The process may have too few open files for a daemon of any size.
package struct TooFewOpenFiles: Error, CustomStringConvertible {
    package let limit: Int

    package var description: String {
        "The process may have \(limit) files open, and needs \(DaemonLimits.openFilesLeast) at least: raise the limit "
            + "(ulimit -n)."
    }
}

extension DaemonConfiguration {
    /// The configuration reduced to the number of files that the process may have open, so that the daemon never runs
    /// out of files by itself.
    ///
    ///     64                     the daemon's own
    ///     an eighth, 64 at most  clients that are turned away
    ///     an eighth of the rest  connections to the APNs listeners, where there are any
    ///     a quarter of the rest  clients
    ///     a third at most        attempts, and with them the names that are looked up for the first time
    ///     the remainder          half of it for further look-ups, then connections to receivers that are kept, then clients
    ///
    /// Without files the store cannot commit, webhooks cannot be sent, and no operator can connect to ask why.
    package func fitting(openFiles: Int) throws(TooFewOpenFiles) -> DaemonConfiguration {
        guard openFiles >= DaemonLimits.openFilesLeast else { throw TooFewOpenFiles(limit: openFiles) }
        var fitted = self
        var files = openFiles - DaemonLimits.openFilesReserved
        fitted.edge.connectionsTurnedAway = min(edge.connectionsTurnedAway, files / 8)
        files -= fitted.edge.connectionsTurnedAway
        if !apns.addresses.isEmpty {
            fitted.apns.connections = min(apns.connections, files / 8)
            files -= fitted.apns.connections
        }
        fitted.slots = min(slots, files / 3)
        let wanted = fitted.transport
        let clients = min(edge.connections, files / 4)
        var left = files - clients - fitted.slots - wanted.lookUps * CurlLimits.filesPerLookUp
        func take(_ number: Int, of part: Int, each files: Int = 1) -> Int {
            let taken = min(max(0, number), part / files)
            left -= taken * files
            return taken
        }
        fitted.furtherLookUps = take(wanted.furtherLookUps, of: left / 2, each: CurlLimits.filesPerLookUp)
        let kept = take(wanted.cachedConnections - fitted.slots, of: left)
        fitted.connections = min(wanted.cachedConnections, fitted.slots + kept)
        fitted.edge.connections = min(edge.connections, clients + left)
        return fitted
    }
}
