import CCurl
import Glibc
import Router
import Testing

@testable import DeliveryCurl

/// The guard's answers to libcurl's questions, and its reading of libcurl's codes, without a connection.
struct EgressGateTests {
    // MARK: The failure behind libcurl's code

    @Test func theGuardExplainsOnlyItsOwnRefusals() throws {
        let url = try CurlURL(parsing: "http://hooks.example/")
        let policy = EgressPolicy(grants: EgressGrant.loopback)
        func gate(_ use: (inout EgressGate) -> Void) -> EgressGate {
            var gate = EgressGate(policy: policy, application: nil, url: url)
            use(&gate)
            return gate
        }
        let untouched = gate { _ in }
        let refused = gate { _ = $0.mayOpen(.v4(10, 0, 0, 1), port: 80) }
        let both = gate {
            _ = $0.mayOpen(.v4(10, 0, 0, 1), port: 80)
            _ = $0.mayOpen(.v4(127, 0, 0, 1), port: 80)
        }
        let stopped = gate {
            _ = $0.mayOpen(.v4(127, 0, 0, 1), port: 80)
            _ = $0.mayUse(.v4(10, 0, 0, 1), port: 80)
        }
        let unreadable = gate { _ = $0.mayUse(nil, port: 80) }
        let rows: [(EgressGate, CURLcode, String?)] = [
            (untouched, CURLE_COULDNT_CONNECT, nil), (untouched, CURLE_ABORTED_BY_CALLBACK, nil),
            (refused, CURLE_COULDNT_CONNECT, "rule private-use"), (refused, CURLE_OPERATION_TIMEDOUT, nil),
            (refused, CURLE_OK, nil), (both, CURLE_COULDNT_CONNECT, nil), (both, CURLE_OK, nil),
            (stopped, CURLE_ABORTED_BY_CALLBACK, "rule private-use"),
            (unreadable, CURLE_ABORTED_BY_CALLBACK, "rule address"),
        ]
        for (place, (gate, code, rule)) in rows.enumerated() {
            let failure = gate.failure(behind: code, hasBegun: false)
            #expect((failure != nil) == (rule != nil), "row \(place)")
            if let rule { #expect(failure?.message.hasSuffix("(\(rule))") == true, "row \(place)") }
            if let failure { #expect(failure.kind == .egressRefused && failure.curlCode == Int(code.rawValue)) }
        }
    }

    @Test("A machine without sockets says nothing of the receiver", arguments: [EMFILE, ENFILE, ENOBUFS, ENOMEM])
    func shortage(code: Int32) throws {
        let url = try CurlURL(parsing: "http://hooks.example/")
        var gate = EgressGate(policy: EgressPolicy(grants: EgressGrant.loopback), application: nil, url: url)
        let mayOpen = gate.mayOpen(.v4(127, 0, 0, 1), port: 80)
        #expect(mayOpen)
        gate.noSocket(because: EAFNOSUPPORT)
        #expect(gate.failure(behind: CURLE_COULDNT_CONNECT, hasBegun: false) == nil)
        gate.noSocket(because: code)
        #expect(gate.failure(behind: CURLE_COULDNT_CONNECT, hasBegun: false)?.kind == .noSocket)
        #expect(gate.failure(behind: CURLE_OPERATION_TIMEDOUT, hasBegun: false) == nil)
        #expect(gate.failure(behind: CURLE_COULDNT_CONNECT, hasBegun: true) == nil, "the receiver may have it")
    }

    // MARK: Reading libcurl's addresses

    private func read(_ family: Int32, _ bytes: [UInt8], claiming length: Int) -> ccurl_address {
        let size = MemoryLayout<curl_sockaddr>.size + MemoryLayout<sockaddr_in6>.size
        let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        defer { memory.deallocate() }
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        let address = memory.assumingMemoryBound(to: curl_sockaddr.self)
        address.pointee.family = family
        address.pointee.addrlen = UInt32(length)
        let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) ?? 0
        (memory + offset).copyMemory(from: bytes, byteCount: bytes.count)
        var found = ccurl_address()
        ccurl_read_address(address, &found)
        return found
    }

    @Test func addressesOfSocketsAreReadWithinTheirBounds() {
        // Family, port, address as `sockaddr_in` and `sockaddr_in6` have them.
        let v4: [UInt8] = [2, 0, 0x1F, 0x90, 127, 0, 0, 2] + Array(repeating: 0, count: 8)
        let v6: [UInt8] = [10, 0, 0x1F, 0x91, 0, 0, 0, 0] + (1...16).map { UInt8($0) } + [0, 0, 0, 0]
        let short = read(AF_INET, v4, claiming: v4.count)
        #expect(short.count == 4 && short.port == 8080)
        #expect([short.bytes.0, short.bytes.1, short.bytes.2, short.bytes.3] == [127, 0, 0, 2])
        let long = read(AF_INET6, v6, claiming: v6.count)
        #expect(long.count == 16 && long.port == 8081 && long.bytes.0 == 1 && long.bytes.15 == 16)
        #expect(read(AF_INET, v4, claiming: 8).count == 0)
        #expect(read(AF_INET6, v6, claiming: 16).count == 0)
        #expect(read(AF_UNIX, v4, claiming: v4.count).count == 0)
    }
}
