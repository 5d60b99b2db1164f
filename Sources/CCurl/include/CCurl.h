#ifndef ROUTERD_CCURL_H
#define ROUTERD_CCURL_H

#include <curl/curl.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

/*
 * libcurl's setopt and getinfo are variadic, and Swift imports no variadic C function. Here is one function per
 * argument type in use, so that the type of an argument is checked at the call: an `int` passed where libcurl
 * reads a `long` is the classic crash of this interface. Each returns libcurl's own code.
 */

static inline CURLcode ccurl_setopt_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_setopt_off_t(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

/* libcurl copies the string. */
static inline CURLcode ccurl_setopt_string(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

/* libcurl keeps the pointer. */
static inline CURLcode ccurl_setopt_pointer(CURL *handle, CURLoption option, const void *value) {
    return curl_easy_setopt(handle, option, value);
}

/* libcurl keeps the pointer and reads the memory behind it until the transfer is over. */
static inline CURLcode ccurl_setopt_url(CURL *handle, CURLU *value) {
    return curl_easy_setopt(handle, CURLOPT_CURLU, value);
}

/* libcurl keeps the pointer and reads the memory behind it until the transfer is over. */
static inline CURLcode ccurl_setopt_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_setopt_callback(CURL *handle, CURLoption option, curl_write_callback value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode ccurl_setopt_open_callback(CURL *handle, curl_opensocket_callback value) {
    return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, value);
}

static inline CURLcode ccurl_setopt_close_callback(CURL *handle, curl_closesocket_callback value) {
    return curl_easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, value);
}

static inline CURLcode ccurl_setopt_lookup_callback(CURL *handle, curl_resolver_start_callback value) {
    return curl_easy_setopt(handle, CURLOPT_RESOLVER_START_FUNCTION, value);
}

static inline CURLcode ccurl_setopt_request_callback(CURL *handle, curl_prereq_callback value) {
    return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, value);
}

static inline CURLcode ccurl_getinfo_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode ccurl_getinfo_off_t(CURL *handle, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(handle, info, value);
}

/* The string belongs to the handle. */
static inline CURLcode ccurl_getinfo_string(CURL *handle, CURLINFO info, const char **value) {
    char *found = NULL;
    CURLcode code = curl_easy_getinfo(handle, info, &found);
    *value = found;
    return code;
}

static inline CURLcode ccurl_getinfo_private(CURL *handle, void **value) {
    char *found = NULL;
    CURLcode code = curl_easy_getinfo(handle, CURLINFO_PRIVATE, &found);
    *value = found;
    return code;
}

static inline CURLMcode ccurl_multi_setopt_long(CURLM *handle, CURLMoption option, long value) {
    return curl_multi_setopt(handle, option, value);
}

static inline CURLMcode ccurl_multi_setopt_pointer(CURLM *handle, CURLMoption option, void *value) {
    return curl_multi_setopt(handle, option, value);
}

static inline CURLMcode ccurl_multi_setopt_socket_callback(CURLM *handle, curl_socket_callback value) {
    return curl_multi_setopt(handle, CURLMOPT_SOCKETFUNCTION, value);
}

static inline CURLMcode ccurl_multi_setopt_timer_callback(CURLM *handle, curl_multi_timer_callback value) {
    return curl_multi_setopt(handle, CURLMOPT_TIMERFUNCTION, value);
}

/* The result of a message sits in a union, which Swift would import as unchecked memory. */
static inline CURLcode ccurl_message_result(const CURLMsg *message) {
    return message->data.result;
}

/* CURLVERSION_NOW is a macro over an enumerator, which Swift does not import. */
static inline const curl_version_info_data *ccurl_version(void) {
    return curl_version_info(CURLVERSION_NOW);
}

/* An address of a socket as bytes in network order: 4 of them or 16, and 0 if it is not one of IPv4 or IPv6. */
struct ccurl_address {
    uint8_t bytes[16];
    uint32_t count;
    uint16_t port;
};

/* Reads what libcurl is about to connect to. The structure that it hands over ends in a generic `sockaddr` with the
 * rest of the real one behind it, which Swift cannot look at; here its length is checked before it is read. */
void ccurl_read_address(const struct curl_sockaddr *address, struct ccurl_address *result);

/* Reads the two ends of a connected socket. Returns whether both are of IPv4 or IPv6. */
int ccurl_read_ends(curl_socket_t socket, struct ccurl_address *own, struct ccurl_address *peer);

/* For how many milliseconds no data has come over a connection of TCP; -1 if the socket is none. */
int64_t ccurl_silence(curl_socket_t socket);

/* Opens the socket that libcurl would have opened; -1, which is CURL_SOCKET_BAD, if there is none to be had. */
curl_socket_t ccurl_open_socket(const struct curl_sockaddr *address);

/* Names the calling thread, for tools that look at the process from outside. At most 15 bytes. */
void ccurl_name_thread(const char *name);

#endif
