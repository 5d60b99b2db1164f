#define _GNU_SOURCE
#include "CPluginChild.h"
#include "confinement.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

// How often the supervisor looks at what the plugin holds, and at which of these looks it looks at the folder too.
static const int look_milliseconds = 250, looks_per_folder_look = 8;

void plugin_child_fail(const char *call, int status) {
    dprintf(2, "the plugin cannot be started: %s: %s\n", call, strerror(errno));
    _exit(status);
}

static void become(
    const struct plugin_child_limits *limits, struct plugin_child_spaces spaces, char *const *arguments,
    char *const *environment, pid_t supervisor
) {
    setsid();
    plugin_child_confine(limits, spaces);
    // After the change of the user, which takes it back. The supervisor may have ended before; in a namespace of its own the
    // child sees no parent.
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (!spaces.processes && getppid() != supervisor) _exit(126);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    // Daemons ignore some of them, and exec keeps that.
    for (int number = 1; number < 32; number++) signal(number, SIG_DFL);
    syscall(SYS_close_range, 3, ~0U, 0);
    plugin_child_filter(limits->network, spaces.processes);
    execvpe(arguments[0], arguments, environment);
    plugin_child_fail(arguments[0], 127);
}

// Ends the plugin; the reason goes to its standard error.
static void end(pid_t child, const char *reason) {
    if (reason) dprintf(2, "the plugin is ended: %s\n", reason);
    plugin_child_end_all(child);
    _exit(137);
}

static void supervise(const struct plugin_child_limits *limits, pid_t child) {
    int process = (int)syscall(SYS_pidfd_open, child, 0);
    close(0);
    close(1);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    struct pollfd waits[2] = {{.fd = 3, .events = POLLIN}, {.fd = process, .events = POLLIN}};
    for (int look = 0; poll(waits, process < 0 ? 1 : 2, look_milliseconds) >= 0 || errno == EINTR; look++) {
        int status = 0;
        // Orphans of the plugin are children of this process.
        for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
            if (ended != child) continue;
            plugin_child_end_all(0);
            if (WIFSIGNALED(status)) _exit(128 + WTERMSIG(status));
            _exit(WEXITSTATUS(status));
        }
        if (waits[0].revents & (POLLHUP | POLLERR | POLLNVAL)) end(child, NULL);
        if (plugin_child_bytes_held() > limits->memory) end(child, "its processes hold more memory than memoryMebibytes");
        if (look % looks_per_folder_look != 0) continue;
        if (plugin_child_folder_is_full()) end(child, "its working folder is full, or has a folder that cannot be read");
        if (plugin_child_hides_files()) end(child, "it has mapped a deleted file of its working folder");
    }
    end(child, NULL);
}

static void run(const struct plugin_child_limits *limits, char *folder, char **arguments, char **environment) {
    syscall(SYS_close_range, 4, ~0U, 0);
    setsid();
    // As long as this process may enter it; the folder need not be reachable for the plugin by its path.
    if (chdir(folder) != 0) plugin_child_fail("chdir", 126);
    struct plugin_child_spaces spaces = plugin_child_separate(limits->network);
    if (!spaces.processes) dprintf(2, "the system refuses namespaces: the plugin sees other processes\n");
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    pid_t supervisor = getpid();
    pid_t child = fork();
    if (child < 0) plugin_child_fail("fork", 126);
    if (child == 0) become(limits, spaces, arguments, environment, supervisor);
    supervise(limits, child);
}

__attribute__((constructor)) static void plugin_child(int count, char **arguments, char **environment) {
    if (count < 9 || strcmp(arguments[1], "plugin-child") != 0) return;
    struct plugin_child_limits limits = {
        .memory = strtoull(arguments[2], NULL, 10) << 20,
        .processes = strtoull(arguments[3], NULL, 10),
        .processor = strtoull(arguments[4], NULL, 10),
        .network = strcmp(arguments[5], "network") == 0,
        .reads = atoi(arguments[7]),
        .read = arguments + 8,
    };
    if (limits.reads < 0 || limits.reads > count - 9) {
        errno = EINVAL;
        plugin_child_fail("plugin-child", 126);
    }
    run(&limits, arguments[6], arguments + 8 + limits.reads, environment);
}
