package import RouterPlugin

/// The idempotency record of a request that a client may repeat, kept under the client's key.
package enum KeptAnswer: Hashable, Sendable {
    /// A request was accepted; the fingerprint is a digest of all of it: the same key for another request is a
    /// conflict.
    case request(fingerprint: [UInt8])
    /// A line of a batch put a session, which was new or was not. A secret generated for it is not kept: it is shown
    /// once.
    case session(created: Bool)
    /// A scene was activated, and was created for that or was not.
    case activation(fingerprint: [UInt8], session: SessionID, created: Bool)
}
