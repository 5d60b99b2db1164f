import CCurl
import Router

/// A connection, named by its ends: libcurl says which one a request goes over by these and by nothing else.
struct Connection: Hashable {
    var peer: IPAddress
    var peerPort: Int
    var ownPort: Int

    init(peer: IPAddress, peerPort: Int, ownPort: Int) {
        self.peer = peer
        self.peerPort = peerPort
        self.ownPort = ownPort
    }

    /// The connection that a socket is an end of; nil if it is none.
    init?(of socket: Int32) {
        var (own, peer) = (ccurl_address(), ccurl_address())
        guard ccurl_read_ends(socket, &own, &peer) != 0, let address = IPAddress(peer) else { return nil }
        self.init(peer: address, peerPort: Int(peer.port), ownPort: Int(own.port))
    }
}

extension IPAddress {
    /// The address as C hands it over; nil if it was not one of the Internet Protocol.
    init?(_ address: ccurl_address) {
        let bytes = withUnsafeBytes(of: address.bytes) { Array($0.prefix(Int(address.count))) }
        self.init(bytes: bytes)
    }
}
