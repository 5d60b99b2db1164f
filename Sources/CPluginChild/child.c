#define _GNU_SOURCE
#include "CPluginChild.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

struct plugin_child_limits {
    uint64_t memory, processes, processor;
    bool network;
};

// Open files of a process, and bytes of a file that it writes.
static const uint64_t descriptors = 64, file_bytes = 64 << 20;

// The user that plugins of a daemon with the rights of root run as.
static const uid_t plain_user = 65534;

static bool write_file(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return false;
    bool written = write(file, text, strlen(text)) == (ssize_t)strlen(text);
    close(file);
    return written;
}

static bool limit(int resource, uint64_t value) {
    struct rlimit limits = {.rlim_cur = value, .rlim_max = value};
    if (setrlimit(resource, &limits) == 0) return true;
    // A limit that is already lower stays.
    return getrlimit(resource, &limits) == 0 && limits.rlim_max <= value;
}

// New namespaces of users, processes and, unless allowed, of the network. A system that refuses them goes without.
static void separate(bool network) {
    char map[64];
    uid_t user = geteuid();
    gid_t group = getegid();
    int wanted = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWIPC | (network ? 0 : CLONE_NEWNET);
    if (unshare(wanted) != 0) return;
    write_file("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "%u %u 1", user, user);
    write_file("/proc/self/uid_map", map);
    snprintf(map, sizeof map, "%u %u 1", group, group);
    write_file("/proc/self/gid_map", map);
}

// Files may be written, made and removed in the working folder alone. Kernels without Landlock go without.
static void guard_files(int folder) {
    uint64_t writes = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE
        | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG
        | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK
        | LANDLOCK_ACCESS_FS_MAKE_SYM;
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1) return;
#ifdef LANDLOCK_ACCESS_FS_TRUNCATE
    if (version >= 3) writes |= LANDLOCK_ACCESS_FS_TRUNCATE;
#else
    if (version >= 3) writes |= 1ULL << 14;
#endif
    struct landlock_ruleset_attr rules = {.handled_access_fs = writes};
    int set = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0);
    if (set < 0) return;
    struct landlock_path_beneath_attr own = {.allowed_access = writes, .parent_fd = folder};
    syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH, &own, 0);
    int null = open("/dev/null", O_PATH | O_CLOEXEC);
    struct landlock_path_beneath_attr sink = {.allowed_access = LANDLOCK_ACCESS_FS_WRITE_FILE, .parent_fd = null};
    if (null >= 0) syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH, &sink, 0);
    syscall(SYS_landlock_restrict_self, set, 0);
    close(set);
}

static void fail(const char *call, int status) {
    dprintf(2, "the plugin cannot be started: %s: %s\n", call, strerror(errno));
    _exit(status);
}

static void become(
    const struct plugin_child_limits *limits, char *const *arguments, char *const *environment, pid_t supervisor
) {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    // In a namespace of its own the child sees no parent; the supervisor may have ended before the line above.
    if (getppid() != supervisor && getppid() != 0) _exit(126);
    setsid();
    for (int capability = 0; capability <= 63; capability++) prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail("no_new_privs", 126);
    int place = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (place >= 0) guard_files(place);
    bool limited = limit(RLIMIT_CORE, 0) && limit(RLIMIT_FSIZE, file_bytes) && limit(RLIMIT_DATA, limits->memory)
        && limit(RLIMIT_CPU, limits->processor) && limit(RLIMIT_NOFILE, descriptors)
        && limit(RLIMIT_NPROC, limits->processes);
    if (!limited) fail("setrlimit", 126);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int number = 1; number < 32; number++) signal(number, SIG_DFL);
    // Daemons ignore these two, and exec keeps that.
    signal(SIGXFSZ, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    syscall(SYS_close_range, 3, ~0U, 0);
    execvpe(arguments[0], arguments, environment);
    fail(arguments[0], 127);
}

static void supervise(pid_t child) {
    int process = (int)syscall(SYS_pidfd_open, child, 0);
    for (int descriptor = 0; descriptor < 3; descriptor++) close(descriptor);
    struct pollfd waits[2] = {{.fd = 3, .events = POLLIN}, {.fd = process, .events = POLLIN}};
    while (poll(waits, process < 0 ? 1 : 2, process < 0 ? 100 : -1) >= 0 || errno == EINTR) {
        int status = 0;
        if (waitpid(child, &status, WNOHANG) == child) {
            kill(-child, SIGKILL);
            if (WIFSIGNALED(status)) _exit(128 + WTERMSIG(status));
            _exit(WEXITSTATUS(status));
        }
        if (waits[0].revents & (POLLHUP | POLLERR | POLLNVAL)) break;
    }
    kill(-child, SIGKILL);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    _exit(137);
}

static void run(const struct plugin_child_limits *limits, char *folder, char **arguments, char **environment) {
    syscall(SYS_close_range, 4, ~0U, 0);
    setsid();
    // As long as this process may enter it; the folder need not be reachable for the plugin by its path.
    if (chdir(folder) != 0) fail("chdir", 126);
    if (geteuid() == 0) {
        if (setgroups(0, NULL) != 0) fail("setgroups", 126);
        if (setresgid(plain_user, plain_user, plain_user) != 0) fail("setresgid", 126);
        if (setresuid(plain_user, plain_user, plain_user) != 0) fail("setresuid", 126);
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    }
    separate(limits->network);
    pid_t supervisor = getpid();
    pid_t child = fork();
    if (child < 0) fail("fork", 126);
    if (child == 0) become(limits, arguments, environment, supervisor);
    supervise(child);
}

__attribute__((constructor)) static void plugin_child(int count, char **arguments, char **environment) {
    if (count < 8 || strcmp(arguments[1], "plugin-child") != 0) return;
    struct plugin_child_limits limits = {
        .memory = strtoull(arguments[2], NULL, 10) << 20,
        .processes = strtoull(arguments[3], NULL, 10),
        .processor = strtoull(arguments[4], NULL, 10),
        .network = strcmp(arguments[5], "network") == 0,
    };
    run(&limits, arguments[6], arguments + 7, environment);
}
