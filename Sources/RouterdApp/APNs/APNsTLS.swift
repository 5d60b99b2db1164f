package import NIOSSL

/// TLS of the APNs listeners.
package enum APNsTLS {
    /// TLS 1.2 or later, as APNs has it. Clients that negotiate a protocol are offered HTTP/2; clients that do not speak it
    /// all the same.
    ///
    /// - Parameter clientAuthorities: The authorities of certificates that clients may present; nil asks for none.
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
