#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// The limits of a plugin's process, and the paths that it may read.
struct plugin_child_limits {
    uint64_t memory, processes, processor;
    bool network;
    int reads;
    char *const *read;
};

// The namespaces that a plugin has: of processes, System V objects and the network; and of mounts.
struct plugin_child_spaces {
    bool processes, mounts;
};

// Gives the calling process namespaces of its own: for users unless it has the rights of root, for processes, mounts and
// System V objects, and for the network unless that is allowed. A system may refuse them, or those of mounts.
struct plugin_child_spaces plugin_child_separate(bool network);

// Confines the calling process, which runs the plugin next. In a namespace of processes it is the first process. A step that
// the system does not know is left out with a word on standard error; a step that fails ends the process.
void plugin_child_confine(const struct plugin_child_limits *limits, struct plugin_child_spaces spaces);

// Forbids calls that reach other processes, namespaces, the kernel's configuration or, unless allowed, sockets.
void plugin_child_filter(bool network, bool is_separate);

// The bytes that the plugin holds: memory of its processes that is its own, and deleted files that they have open.
uint64_t plugin_child_bytes_held(void);

// Whether a process of the plugin has mapped a deleted file of the working folder, which is the current one.
bool plugin_child_hides_files(void);

// Whether the working folder has more files or bytes than a plugin may have, or a folder that cannot be read.
bool plugin_child_folder_is_full(void);

// Ends every descendant of this process; returns when none is left. The child is 0 if it has ended.
void plugin_child_end_all(pid_t child);

void plugin_child_fail(const char *call, int status);
