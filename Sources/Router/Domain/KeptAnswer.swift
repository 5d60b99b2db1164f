package import RouterPlugin

/// What is remembered, under a client's key, of a request that the client may repeat.
package enum KeptAnswer: Hashable, Sendable {
    /// A request was taken, and this is a digest of all of it: the same key for something else is a conflict.
    case request(fingerprint: [UInt8])
    /// A line of a batch put a session, which was new or was not. A secret that was made for it is not kept: it is shown
    /// once.
    case session(created: Bool)
    /// A scene was activated, which was made for that or was not.
    case activation(fingerprint: [UInt8], session: SessionID, created: Bool)
}
