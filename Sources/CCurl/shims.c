#define _GNU_SOURCE
#include "CCurl.h"

#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

/* Not inline: the declaration of pthread_setname_np needs _GNU_SOURCE, which a header cannot ask of its users. */
void ccurl_name_thread(const char *name) {
    pthread_setname_np(pthread_self(), name);
}

void ccurl_read_address(const struct curl_sockaddr *address, struct ccurl_address *result) {
    memset(result, 0, sizeof *result);
    if (address->family == AF_INET && address->addrlen >= sizeof(struct sockaddr_in)) {
        struct sockaddr_in found;
        memcpy(&found, &address->addr, sizeof found);
        memcpy(result->bytes, &found.sin_addr, 4);
        result->count = 4;
        result->port = ntohs(found.sin_port);
    } else if (address->family == AF_INET6 && address->addrlen >= sizeof(struct sockaddr_in6)) {
        struct sockaddr_in6 found;
        memcpy(&found, &address->addr, sizeof found);
        memcpy(result->bytes, &found.sin6_addr, 16);
        result->count = 16;
        result->port = ntohs(found.sin6_port);
    }
}

/* Closed on exec: a program that the daemon starts has no business with its connections. */
curl_socket_t ccurl_open_socket(const struct curl_sockaddr *address) {
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}
