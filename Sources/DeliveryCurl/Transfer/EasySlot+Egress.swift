import CCurl
import Glibc
import Router

// Both callbacks run on the loop's thread, from within its calls to libcurl, and only decide: nothing in them waits,
// and nothing in them can throw. Without an answer they refuse.
extension EasySlot {
    /// Opens a socket if the guard lets it, to the very address that libcurl then connects it to: a name that resolves
    /// to something else the next time changes nothing.
    static let openCallback: curl_opensocket_callback = { context, _, address in
        guard let context, let address else { return CURL_SOCKET_BAD }
        let slot = Unmanaged<EasySlot>.fromOpaque(context).takeUnretainedValue()
        var found = ccurl_address()
        ccurl_read_address(address, &found)
        guard slot.mayOpen(IPAddress(found), port: Int(found.port)) else { return CURL_SOCKET_BAD }
        let socket = ccurl_open_socket(address)
        if socket == CURL_SOCKET_BAD { slot.noSocket(because: errno) }
        return socket
    }

    /// Asks again before the request is sent: libcurl opens no socket when it has a connection that fits, and does not
    /// know that it may have been opened for an application with more grants.
    static let requestCallback: curl_prereq_callback = { context, remoteAddress, _, remotePort, ownPort in
        guard let context, let remoteAddress else { return CURL_PREREQFUNC_ABORT }
        let slot = Unmanaged<EasySlot>.fromOpaque(context).takeUnretainedValue()
        let address = IPAddress(String(cString: remoteAddress))
        let mayBegin = slot.mayBegin(at: address, port: Int(remotePort), from: Int(ownPort))
        return mayBegin ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
    }
}
