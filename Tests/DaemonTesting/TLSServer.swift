import Foundation
import Glibc

/// A TLS server on loopback, whose certificate is made for the test, or given. It gives each connection the same answer until it is ended.
struct TLSServer {
    let port: Int
    /// The certificate in PEM, which is its own authority unless it is given.
    let certificate: String
    private let process = Process()

    /// - Parameters:
    ///   - days: How long the certificate is valid.
    ///   - names: The names that the certificate is for, in the form of openssl.
    ///   - answer: Sent when a client has sent a whole request; nil closes each connection after the handshake.
    init(
        in directory: TemporaryDirectory, days: Int = 2, names: String = "IP:127.0.0.1", answer: String? = nil
    ) throws {
        let (certificate, key) = (directory.file("certificate.pem"), directory.file("key.pem"))
        let openssl = Process()
        openssl.executableURL = URL(filePath: "/usr/bin/openssl")
        openssl.standardError = FileHandle.nullDevice
        openssl.arguments = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "\(days)",
            "-subj", "/CN=test", "-addext", "subjectAltName=\(names)", "-keyout", key, "-out", certificate,
        ]
        try openssl.run()
        openssl.waitUntilExit()
        guard openssl.terminationStatus == 0 else { throw ProgramError(reason: "openssl makes no certificate") }
        try self.init(certificate: certificate, key: key, answer: answer)
    }

    /// A server with the certificate and the key of these files in PEM.
    init(certificate: String, key: String, answer: String? = nil) throws {
        self.certificate = certificate
        let program = """
            import re, socket, ssl, sys
            def receives_request(tls):
                request = b""
                while part := tls.recv(65536):
                    request += part
                    head, end, body = request.partition(b"\\r\\n\\r\\n")
                    length = re.search(rb"(?i)\\ncontent-length: *([0-9]+)", head)
                    if end and len(body) >= int(length[1] if length else 0): return True
                return False
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(sys.argv[1], sys.argv[2])
            listener = socket.create_server(("127.0.0.1", 0))
            print(listener.getsockname()[1], flush=True)
            while True:
                connection = listener.accept()[0]
                try:
                    with context.wrap_socket(connection, server_side=True) as tls:
                        if sys.argv[3:] and receives_request(tls): tls.sendall(sys.argv[3].encode())
                except (ssl.SSLError, OSError): pass
            """
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = ["-c", program, certificate, key] + (answer.map { [$0] } ?? [])
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard let port = Int(line.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw ProgramError(reason: "the server says no port")
        }
        self.port = port
    }

    /// The runner of the tests blocks SIGTERM, and the server has inherited that.
    func end() { kill(process.processIdentifier, SIGKILL) }
}
