// Keeps notifications away from kiosks: a rule as a WASI guest without a C library.
//
//     clang --target=wasm32 -O2 -nostdlib -Wl,--export=_start -Wl,--no-entry -o rule.wasm rule.c

typedef unsigned int u32;
typedef struct { void *base; u32 length; } Span;

#define WASI(name) __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name)))
WASI(fd_read) int fd_read(int descriptor, const Span *spans, u32 count, u32 *done);
WASI(fd_write) int fd_write(int descriptor, const Span *spans, u32 count, u32 *done);

static unsigned char message[1 << 20];
static char answer[1 << 16];
static u32 length;

static int take(unsigned char *bytes, u32 wanted) {
    while (wanted > 0) {
        Span span = {bytes, wanted};
        u32 done = 0;
        if (fd_read(0, &span, 1, &done) != 0 || done == 0) return 0;
        bytes += done;
        wanted -= done;
    }
    return 1;
}

static void send(void) {
    unsigned char head[4] = {length >> 24, length >> 16, length >> 8, length};
    char *parts[2] = {(char *)head, answer};
    u32 sizes[2] = {4, length};
    for (int part = 0; part < 2; part++)
        for (u32 sent = 0, done = 0; sent < sizes[part]; sent += done) {
            Span span = {parts[part] + sent, sizes[part] - sent};
            if (fd_write(1, &span, 1, &done) != 0) __builtin_trap();
        }
}

static void add(const char *text, u32 size) {
    for (u32 i = 0; i < size && length < sizeof answer; i++) answer[length++] = text[i];
}
#define ADD(text) add(text, sizeof text - 1)

static char *find(char *from, char *end, const char *text) {
    for (; from < end; from++) {
        u32 i = 0;
        while (text[i] && from + i < end && from[i] == text[i]) i++;
        if (!text[i]) return from;
    }
    return 0;
}

// The text between quotes, escapes left as they are.
static u32 string(const char *from, const char *end) {
    u32 size = 0;
    while (from + size < end && from[size] != '"') size += from[size] == '\\' ? 2 : 1;
    return size;
}

// The id is that of the configuration, which stands before the settings: several rules may run this program.
static void greet(char *text, char *end) {
    char *id = find(text, end, "\"plugin\":\"");
    if (!id) __builtin_trap();
    ADD("{\"type\":\"ready\",\"protocol\":1,\"kind\":\"rule\",\"plugin\":\"");
    add(id + 10, string(id + 10, end));
    ADD("\",\"version\":\"1.0.0\"}");
}

static void decide(char *text, char *end) {
    // Quotes in texts are escaped, and after the last list of this name there are only texts, numbers and nulls.
    char *list = text;
    for (char *next = text; (next = find(next, end, "\"candidates\":[")) != 0; next++) list = next;
    char *id = find(text, end, "\"id\":");
    // A message without a question ends the guest, and routerd starts it again.
    if (!id) __builtin_trap();
    id += 5;
    ADD("{\"type\":\"verdicts\",\"id\":");
    for (; *id >= '0' && *id <= '9'; id++) add(id, 1);
    ADD(",\"verdicts\":[");
    int first = 1;
    char *candidate = find(list, end, "{\"session\":\"");
    while (candidate) {
        char *session = candidate + 12;
        char *next = find(session, end, "{\"session\":\"");
        if (find(session, next ? next : end, "\"role\":\"kiosk\"")) {
            if (!first) ADD(",");
            first = 0;
            ADD("{\"session\":\"");
            add(session, string(session, end));
            ADD("\",\"verdict\":\"veto\",\"reason\":\"the session's role is shielded\"}");
        }
        candidate = next;
    }
    ADD("]}");
}

void _start(void) {
    unsigned char head[4];
    while (take(head, 4)) {
        u32 size = (u32)head[0] << 24 | head[1] << 16 | head[2] << 8 | head[3];
        if (size > sizeof message || !take(message, size)) return;
        char *text = (char *)message, *end = text + size;
        length = 0;
        if (find(text, end, "\"type\":\"hello\""))
            greet(text, end);
        else
            decide(text, end);
        send();
    }
}
