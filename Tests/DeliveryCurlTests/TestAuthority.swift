import Foundation

/// A certificate authority made for this run of the tests, and certificates of a server signed by it.
struct TestAuthority: Sendable {
    /// PEM files.
    let authority: String
    let certificate: String
    let key: String

    /// For `127.0.0.1`.
    static let shared = Result { try TestAuthority(for: "IP:127.0.0.1") }

    private static let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("curl-tests-\(UUID().uuidString)")

    private init(for name: String) throws {
        let folder = Self.folder
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // The keys are worth nothing, and still not left behind.
        atexit { try? FileManager.default.removeItem(at: TestAuthority.folder) }
        func path(_ file: String) -> String { folder.appendingPathComponent(file).path }
        authority = path("authority.pem")
        certificate = path("server.pem")
        key = path("server-key.pem")
        let common = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-batch",
        ]
        try Self.openssl(
            common + ["-subj", "/CN=Test authority", "-keyout", path("authority-key.pem"), "-out", authority])
        try Self.openssl(
            common + [
                "-subj", "/CN=Test server", "-addext", "subjectAltName=\(name)", "-addext",
                "basicConstraints=critical,CA:FALSE", "-CA", authority, "-CAkey", path("authority-key.pem"),
                "-keyout", key, "-out", certificate,
            ])
    }

    private static func openssl(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw CocoaError(.executableLoad) }
    }
}
