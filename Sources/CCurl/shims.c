#define _GNU_SOURCE
#include "CCurl.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

/* Not inline: the declaration of pthread_setname_np needs _GNU_SOURCE, which a header cannot ask of its users. */
void ccurl_name_thread(const char *name) {
    pthread_setname_np(pthread_self(), name);
}

static void read_socket_address(int family, const void *address, size_t length, struct ccurl_address *result) {
    memset(result, 0, sizeof *result);
    if (family == AF_INET && length >= sizeof(struct sockaddr_in)) {
        struct sockaddr_in found;
        memcpy(&found, address, sizeof found);
        memcpy(result->bytes, &found.sin_addr, 4);
        result->count = 4;
        result->port = ntohs(found.sin_port);
    } else if (family == AF_INET6 && length >= sizeof(struct sockaddr_in6)) {
        struct sockaddr_in6 found;
        memcpy(&found, address, sizeof found);
        memcpy(result->bytes, &found.sin6_addr, 16);
        result->count = 16;
        result->port = ntohs(found.sin6_port);
    }
}

void ccurl_read_address(const struct curl_sockaddr *address, struct ccurl_address *result) {
    read_socket_address(address->family, &address->addr, address->addrlen, result);
}

int ccurl_read_ends(curl_socket_t socket, struct ccurl_address *own, struct ccurl_address *peer) {
    struct sockaddr_storage found;
    socklen_t length = sizeof found;
    if (getsockname(socket, (struct sockaddr *)&found, &length) != 0) return 0;
    read_socket_address(found.ss_family, &found, length, own);
    length = sizeof found;
    if (getpeername(socket, (struct sockaddr *)&found, &length) != 0) return 0;
    read_socket_address(found.ss_family, &found, length, peer);
    return own->count > 0 && peer->count > 0;
}

int64_t ccurl_silence(curl_socket_t socket) {
    struct tcp_info info;
    socklen_t length = sizeof info;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return -1;
    return info.tcpi_last_data_recv;
}

/* Closed on exec: a program that the daemon starts has no business with its connections. */
curl_socket_t ccurl_open_socket(const struct curl_sockaddr *address) {
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}
