package import NIOSSL

/// TLS of the APNs listeners.
package enum APNsTLS {
    /// TLS 1.2 or later, as in APNs. HTTP/2 is offered to clients that negotiate a protocol; clients without ALPN speak
    /// it as well.
    ///
    /// - Parameter clientAuthorities: The authorities that sign the certificates of clients; nil requests no
    ///   certificate.
    package static func context(
        chain: [NIOSSLCertificate], key: NIOSSLPrivateKey, clientAuthorities: [NIOSSLCertificate]? = nil
    ) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["h2"]
        if let clientAuthorities {
            configuration.certificateVerification = .optionalVerification
            configuration.trustRoots = .certificates(clientAuthorities)
            configuration.sendCANameList = true
        }
        return try NIOSSLContext(configuration: configuration)
    }
}
