import CCurl
import Glibc
import Router
import RouterPlugin

/// The egress guard of one request: asks the policy for each address that libcurl comes with, and remembers what the
/// outcome will be explained by.
///
/// libcurl asks once for each address of the host that it tries, so a host may have a refused address beside an allowed
/// one. The request is refused by the guard only if nothing else kept it from its receiver.
struct EgressGate {
    private let policy: EgressPolicy
    private let application: ApplicationID?
    private let host: String
    private var refusal: EgressRefusal?
    private var hasOpened = false
    /// Why this machine had no socket, if that is so.
    private var shortage: Int32?

    init(policy: EgressPolicy, application: ApplicationID?, url: CurlURL) {
        self.policy = policy
        self.application = application
        host = url.host
    }

    /// Whether a socket may be opened to the address. Nil stands for one that is not of the Internet Protocol.
    mutating func mayOpen(_ address: IPAddress?, port: Int) -> Bool {
        guard mayUse(address, port: port) else { return false }
        hasOpened = true
        return true
    }

    /// Nothing was opened after all. Other faults are the address's own.
    mutating func noSocket(because code: Int32) {
        if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code) { shortage = code }
    }

    /// Whether the request may go over a connection to the address, new or kept from another request.
    mutating func mayUse(_ address: IPAddress?, port: Int) -> Bool {
        switch verdict(on: address, port: port) {
        case .allowed: return true
        case .refused(let refusal):
            if self.refusal == nil { self.refusal = refusal }
            return false
        }
    }

    private func verdict(on address: IPAddress?, port: Int) -> EgressVerdict {
        guard let address else { return .refused(.unreadableAddress) }
        return policy.verdict(for: application, host: host, address: address, port: port)
    }

    /// The failure that stands behind libcurl's code, if it is the guard's doing or this machine's.
    ///
    /// - Parameter hasBegun: Whether the request was given a connection before. Its receiver may have it then, whatever kept
    ///   it from another one.
    func failure(behind code: CURLcode, hasBegun: Bool) -> TransferFailure? {
        if hasBegun, code == CURLE_COULDNT_CONNECT { return nil }
        if code == CURLE_COULDNT_CONNECT, let shortage {
            return TransferFailure(
                kind: .noSocket, curlCode: Int(code.rawValue), message: String(cString: strerror(shortage)))
        }
        // Where a socket was opened, its failure is the receiver's, and may be another one the next time.
        let isOurs = code == CURLE_ABORTED_BY_CALLBACK || (code == CURLE_COULDNT_CONNECT && !hasOpened)
        guard isOurs, let refusal else { return nil }
        return TransferFailure(refusal, curlCode: Int(code.rawValue))
    }
}
