import CCurl
import Router

// libcurl would look names up on threads of its own, as many as it likes, and lets them run on when a request is over.
// So it looks nothing up: it is refused, the loop asks, and the request goes to libcurl again with the addresses.
// libcurl asks only when it has no connection that fits.
extension EasySlot {
    /// libcurl has neither a connection nor addresses for the request's host.
    static let lookUpCallback: curl_resolver_start_callback = { _, _, context in
        guard let context else { return 1 }
        return Unmanaged<EasySlot>.fromOpaque(context).takeUnretainedValue().mayLookUp() ? 0 : 1
    }

    /// The entry to remove from libcurl's table of names: the addresses of a request count for that request only.
    var nameToForget: String? { hasAddresses ? host.map { "-\($0):\(port)" } : nil }

    /// libcurl's table, for the request that is about to be handed over.
    func setNames(forgetting old: [String], _ addresses: [String]) throws(RequestRefusal) {
        var lines = old
        if let host, !addresses.isEmpty {
            lines.append("\(host):\(port):\(addresses.joined(separator: ","))")
            hasAddresses = true
        }
        try setNames(lines)
    }
}
