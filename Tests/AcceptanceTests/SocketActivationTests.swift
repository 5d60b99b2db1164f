import Glibc
import HTTPTypes
import RouterPlugin
import RouterdApp
import TestSupport
import Testing

@testable import DaemonTesting

/// A socket that the service manager has bound: LISTEN_FDS, LISTEN_PID.
@Suite("Socket activation", .longest)
struct SocketActivationTests {
    /// Becomes the program with a listening socket as descriptor 3, and prints the port. An address beyond loopback is bound in a
    /// network namespace of its own.
    private static func wrapper(_ address: String = "127.0.0.1", sockets: Int = 1) -> [String] {
        let script = """
            import ctypes, os, socket, sys
            user, (NEWUSER, NEWNET) = os.geteuid(), (0x10000000, 0x40000000)
            if '\(address)' != '127.0.0.1':
                if ctypes.CDLL(None).unshare(NEWNET if user == 0 else NEWNET | NEWUSER): sys.exit('no namespace')
                if user != 0: open('/proc/self/uid_map', 'w').write(f'{user} {user} 1')
            s = socket.socket(); s.bind(('\(address)', 0)); s.listen()
            if s.fileno() != 3: os.dup2(s.fileno(), 3)
            os.set_inheritable(3, True)
            print('bound', s.getsockname()[1], file=sys.stderr, flush=True)
            os.environ.update(LISTEN_FDS='\(sockets)', LISTEN_PID=str(os.getpid()))
            os.execv(sys.argv[1], sys.argv[1:])
            """
        return ["python3", "-c", script]
    }

    private static func start(
        _ arguments: [String], under wrapper: [String]
    ) async throws -> (program: Program, port: Int) {
        let program = try Program(["serve"] + arguments, under: wrapper)
        return (program, try #require(Int(try await program.line(beginning: "bound "))))
    }

    @Test("The daemon serves the socket that it is given, also to connections that came first, and ends in order")
    func served() async throws {
        let directory = try TemporaryDirectory()
        try await withReceiver { receiver in
            let hook = receiver.url()
            let (program, port) = try await Self.start(["--database", directory.file()], under: Self.wrapper())
            try await ServedDaemon.connected(to: program, port: port) { daemon in
                // The connection is older than the daemon's readiness.
                let told = try await program.line(beginning: "listening on http://127.0.0.1:")
                #expect(Int(told) == port)
                #expect(try await daemon.call(.get, "/readyz").status == 200)
                try await daemon.putGallery()
                try await daemon.putSession("win-1", at: hook)
                let id = try await daemon.post(about: "a").id
                try await daemon.until(id) { $0["state"] == "delivered" }
                // The connection stays open: the stop does not wait for it.
                program.send(SIGTERM)
                let ended = try await program.ended()
                #expect(ended.status == 0 && !ended.errors.contains(" error "), "\(ended.errors)")
            }
        }
    }

    @Test("Without keys a socket beyond loopback is refused, and so are several sockets")
    func refused() async throws {
        let directory = try TemporaryDirectory()
        for (wrapper, sentence) in [
            (Self.wrapper("0.0.0.0"), "Without API keys the daemon serves loopback only"),
            (Self.wrapper(sockets: 2), "LISTEN_FDS is 2"),
        ] {
            let (program, _) = try await Self.start(["--database", directory.file()], under: wrapper)
            let ended = try await program.ended()
            #expect(ended.status == 1 && ended.errors.contains(sentence), "\(ended.errors)")
            #expect(!ended.errors.contains("listening on"))
        }
    }

    @Test("Variables that are meant for another process are not looked at")
    func otherProcesses() throws {
        #expect(try ActivationSocket(environment: [:], process: 7) == nil)
        #expect(try ActivationSocket(environment: ["LISTEN_FDS": "1", "LISTEN_PID": "8"], process: 7) == nil)
        #expect(try ActivationSocket(environment: ["LISTEN_FDS": "1"], process: 7) == nil)
        #expect(try ActivationSocket(environment: ["LISTEN_FDS": "0", "LISTEN_PID": "7"], process: 7) == nil)
    }
}
