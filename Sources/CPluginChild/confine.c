#define _GNU_SOURCE
#include "confinement.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Open files of a process, and bytes of a file that it writes.
static const uint64_t descriptors = 64, file_bytes = 16 << 20;

// The user that plugins of a daemon with the rights of root run as.
static const uid_t plain_user = 65534;

static bool write_file(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return false;
    bool written = write(file, text, strlen(text)) == (ssize_t)strlen(text);
    close(file);
    return written;
}

// A namespace of users in which the calling process has its own user and no other.
static bool separate_users(int others) {
    char map[64];
    uid_t user = geteuid();
    gid_t group = getegid();
    if (unshare(CLONE_NEWUSER | others) != 0) return false;
    write_file("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "%u %u 1", user, user);
    write_file("/proc/self/uid_map", map);
    snprintf(map, sizeof map, "%u %u 1", group, group);
    write_file("/proc/self/gid_map", map);
    return true;
}

static bool separate(int spaces) { return geteuid() == 0 ? unshare(spaces) == 0 : separate_users(spaces); }

struct plugin_child_spaces plugin_child_separate(bool network) {
    int wanted = CLONE_NEWPID | CLONE_NEWIPC | (network ? 0 : CLONE_NEWNET);
    // No mount of the plugin reaches the system: without that there are none.
    if (separate(wanted | CLONE_NEWNS))
        return (struct plugin_child_spaces){true, mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0};
    return (struct plugin_child_spaces){separate(wanted), false};
}

static bool limit(int resource, uint64_t value) {
    // The signal of the limit on processor time says why the process ends; a second later no process can ignore it.
    struct rlimit limits = {.rlim_cur = value, .rlim_max = value + (resource == RLIMIT_CPU)};
    if (setrlimit(resource, &limits) == 0) return true;
    // A limit that is already lower stays.
    return getrlimit(resource, &limits) == 0 && limits.rlim_max <= value;
}

// Landlock as of its first version, and the rights of later ones by number: headers may be older than the kernel.
struct ruleset {
    uint64_t files, network, scopes;
};
static const uint64_t reading = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
static const uint64_t making = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR
    | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR
    | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO
    | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
static const uint64_t refer = 1 << 13, truncating = 1 << 14, device_ioctl = 1 << 15;
static const uint64_t of_files = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE
    | LANDLOCK_ACCESS_FS_WRITE_FILE | (1 << 14);
// No connection to abstract sockets and no signal to processes outside.
static const uint64_t abstract_sockets_and_signals = 3;

static void grant(int set, const char *path, uint64_t rights) {
    int place = open(path, O_PATH | O_CLOEXEC);
    struct stat status;
    if (place < 0) return;
    if (fstat(place, &status) == 0) {
        struct landlock_path_beneath_attr rule = {
            .allowed_access = S_ISDIR(status.st_mode) ? rights : rights & of_files, .parent_fd = place,
        };
        syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    }
    close(place);
}

// Stands before a folder of which the names of files may be read, and no file.
static const char listing[] = "list:";

// A set of rules: the system's programs and the given paths may be read, the working folder may be written. Returns -1 on a
// kernel without Landlock.
static int guard(const struct plugin_child_limits *limits, bool has_own_processes) {
    static const char *const readable[] = {
        "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/gnu/store", "/etc/alternatives",
        "/etc/ca-certificates", "/etc/gai.conf", "/etc/group", "/etc/host.conf", "/etc/hosts", "/etc/ld.so.cache",
        "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/locale.alias", "/etc/localtime", "/etc/nsswitch.conf",
        "/etc/os-release", "/etc/passwd", "/etc/pki", "/etc/protocols", "/etc/resolv.conf", "/etc/services", "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
        "/etc/timezone", "/dev/random", "/dev/urandom", "/sys/devices/system/cpu", "/sys/fs/cgroup",
    };
    static const char *const own_processes[] = {
        "/proc/cpuinfo", "/proc/loadavg", "/proc/meminfo", "/proc/self", "/proc/stat", "/proc/sys", "/proc/version",
    };
    static const char *const sinks[] = {"/dev/full", "/dev/null", "/dev/zero"};
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1) return -1;
    uint64_t writing = making | (version >= 2 ? refer : 0) | (version >= 3 ? truncating : 0);
    struct ruleset rules = {.files = reading | writing, .scopes = version >= 6 ? abstract_sockets_and_signals : 0};
    if (version >= 5) rules.files |= device_ioctl;
    size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
    int set = (int)syscall(SYS_landlock_create_ruleset, &rules, size, 0);
    if (set < 0) return -1;
    for (size_t place = 0; place < sizeof readable / sizeof *readable; place++) grant(set, readable[place], reading);
    for (size_t place = 0; place < sizeof sinks / sizeof *sinks; place++)
        grant(set, sinks[place], reading | LANDLOCK_ACCESS_FS_WRITE_FILE);
    if (has_own_processes) grant(set, "/proc", reading);
    for (size_t place = 0; !has_own_processes && place < sizeof own_processes / sizeof *own_processes; place++)
        grant(set, own_processes[place], reading);
    for (int place = 0; place < limits->reads; place++) {
        const char *path = limits->read[place];
        bool names_alone = strncmp(path, listing, sizeof listing - 1) == 0;
        if (names_alone) grant(set, path + sizeof listing - 1, LANDLOCK_ACCESS_FS_READ_DIR);
        else grant(set, path, reading);
    }
    grant(set, ".", reading | writing);
    return set;
}

static void drop_capabilities(void) {
    for (int capability = 0; capability <= 63; capability++) prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

void plugin_child_confine(const struct plugin_child_limits *limits, struct plugin_child_spaces spaces) {
    // A view of processes that shows those of the namespace. A container that hides parts of its own refuses it.
    bool has_own_processes = spaces.mounts && mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0;
    // The paths are opened with the rights that the daemon has.
    int set = guard(limits, has_own_processes);
    if (set < 0) dprintf(2, "the kernel has no Landlock: the plugin may read and write what its user may\n");
    bool is_root = geteuid() == 0;
    if (is_root) {
        drop_capabilities();
        if (setgroups(0, NULL) != 0) plugin_child_fail("setgroups", 126);
        if (setresgid(plain_user, plain_user, plain_user) != 0) plugin_child_fail("setresgid", 126);
        if (setresuid(plain_user, plain_user, plain_user) != 0) plugin_child_fail("setresuid", 126);
        // The user's processes are counted in its namespace: plugins do not use up each other's number.
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
        if (spaces.processes) separate_users(0);
    }
    drop_capabilities();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) plugin_child_fail("no_new_privs", 126);
    if (set >= 0 && syscall(SYS_landlock_restrict_self, set, 0) != 0) plugin_child_fail("landlock", 126);
    bool limited = limit(RLIMIT_CORE, 0) && limit(RLIMIT_FSIZE, file_bytes) && limit(RLIMIT_DATA, limits->memory)
        && limit(RLIMIT_CPU, limits->processor) && limit(RLIMIT_NOFILE, descriptors)
        && limit(RLIMIT_NPROC, limits->processes) && limit(RLIMIT_MEMLOCK, 1 << 20) && limit(RLIMIT_MSGQUEUE, 0);
    if (!limited) plugin_child_fail("setrlimit", 126);
}
